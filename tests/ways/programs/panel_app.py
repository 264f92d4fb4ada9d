import panel

from shop import look_up

panel.pane.Markdown(look_up(7)).servable()
