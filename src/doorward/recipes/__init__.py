"""What a room allows: recipes as files, checked, compiled into policies and reloaded when they change."""
