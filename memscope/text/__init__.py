"""Pure text: cleaning, showing, and cutting into the terms that recall matches."""
