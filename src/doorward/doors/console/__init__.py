"""The console's server side: its static files, its login and its event stream. The rest of it uses the REST door."""
