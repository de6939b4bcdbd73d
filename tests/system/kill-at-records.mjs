// Preloaded into a hub: kills it after the first record of a task that it stores.
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const { open } = files;
files.open = async (path, ...rest) => {
  const handle = await open(path, ...rest);
  if (!/[\\/]tasks[\\/][^\\/]+\.jsonl$/.test(String(path))) return handle;
  const sync = handle.sync.bind(handle);
  handle.sync = async () => {
    await sync();
    process.kill(process.pid, 'SIGKILL');
  };
  return handle;
};
syncBuiltinESMExports();
