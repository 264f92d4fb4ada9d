"""A kernel, and a client that runs three cells."""

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
results = []
for cell in ("1 + 1", "_ + 1", "_ + 1"):
    client.execute_interactive(
        cell,
        timeout=30,
        output_hook=lambda message: (
            results.append(message["content"]["data"]["text/plain"])
            if message["msg_type"] == "execute_result"
            else None
        ),
    )
client.stop_channels()
manager.shutdown_kernel()
print(results)
