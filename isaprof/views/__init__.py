"""Views: renderers of an Analysis. They compute nothing."""
