"""How far the timing model can be believed: validation against traces, calibration, what-if."""
