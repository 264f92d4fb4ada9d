"""A small SkyWalking collector for development: keeps what agents send, shows it in the browser, prints each trace.

    gRPC, HTTP, Kafka --> intake --> store --> api --> page, in the browser
                                       |
                                       +--> live --tree, view--> terminal

intake/  grpc (with message_reader, admission, connections, codec), http and kafka bring messages in; messages and
         translation make records of them; commands answers who asks for profile tasks
store/   protocol and wire_check read bytes strictly; trace_translation, segment_index (with tag_text) and rows make
         rows of them; store stands on keeper, and both on database and schema (SQLite), ring and limits (bounds),
         series, instances, profile_tasks, shelf; tag_search, with globs, looks into the text of tags; arrivals wakes
         those who wait; records and trace_records are what it gives out
api/     app serves what queries finds for each address, with parameters and changes. Answers are made piece by piece
         (pace), page by page (cursor), or kept (memo):
         traces, heatmap, differences and tags stand on matching, which has query and conditions;
         trace has tree, clocks, references; loop finds who waited for whom;
         calls (with sums), compare (with sides), errors (with failure_index, failures, stacks);
         logs, meters, instances, processes, process, losses;
         profiles (through merged_stacks, stack_tree, frames), and profile_order, which takes orders
page/    the page itself
gate.py, refusals.py, http_server.py   who may look, and what is refused; both HTTP servers
live.py, view.py          join a trace's segments (api/tree.py) and print them

`server.Collector` puts intake, store and page together, `command` adds the terminal. Importing this package imports
none of them.
"""
