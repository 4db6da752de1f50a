"""The transforms, one module each; a module is registered by being here."""
