import streamlit

from shop import look_up

streamlit.write(look_up(7))
