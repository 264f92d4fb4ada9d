"""A small SkyWalking collector for development: keeps what agents send, shows it in the browser, prints each trace.

    gRPC, HTTP, Kafka --> intake --> store --> api --> page, in the browser
                                       |
                                       +--> live --tree, view--> terminal

intake/  grpc (with message_reader, admission, connections, codec), http and kafka bring messages in; messages and
         translation make records of them, large ones in a thread; commands answers agents that ask for profile tasks
store/   protocol and wire_check read bytes strictly; trace_translation, segment_index (with tag_text and
         failed_segments) and rows make rows of them; store uses contents, and both use database (with fair_lock) and
         schema (SQLite), ring and limits (bounds), series, instances, profile_tasks, bounded_map; tag_search, with
         globs, looks into the text of tags; arrivals wakes tasks that wait; records and trace_records are the values
         that it returns
api/     app has an endpoint for each address, query_endpoint runs the query of it, which queries names, with
         parameters, in query_thread; changes announces new records. Queries are plain functions. They read the store
         piece by piece (pieces); their answers come page by page (cursor), or are kept (memo):
         traces, heatmap, differences and tags use matching, which has query and conditions;
         trace has tree, clocks, references; loop finds the spans that waited for another;
         calls (with sums), compare (with sides), both with failed_calls, errors (with failure_index, failures, stacks);
         logs, meters, instances, processes, process, losses;
         profiles (through merged_stacks, stack_tree, frames), and profile_order, which takes orders
mcp/     the same questions for editors, by the Model Context Protocol, over stdio and HTTP
exchange/  traces as a file
page/    the page itself
gate.py, refusals.py, http_server.py   the checks of each request, the answers to refused ones; both HTTP servers
cancelling.py             ends the work of a thread whose client has left
live.py, view.py          join a trace's segments (api/tree.py) and print them

`server.Collector` puts intake, store and page together, `command` adds the terminal. Importing this package imports
none of them.
"""
