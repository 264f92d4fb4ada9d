import sys

from dash import Dash, html

from shop import look_up

app = Dash("shop")
app.layout = lambda: html.P(look_up(7))

if __name__ == "__main__":
    app.run(host="127.0.0.1", port=sys.argv[1])
