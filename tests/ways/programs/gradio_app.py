import sys

import gradio

from shop import look_up

page = gradio.Interface(look_up, "text", "text")

if __name__ == "__main__":
    page.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]))
