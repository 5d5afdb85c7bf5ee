"""What a command or a key sets off: dialogs one after another, and what follows from the answers."""
