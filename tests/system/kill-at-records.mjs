// Preloaded into a hub. Kills it once it has stored as many records of tasks as RECORDS_UNTIL_KILL.
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const { open } = files;
let left = Number(process.env.RECORDS_UNTIL_KILL);
files.open = async (path, ...rest) => {
  const handle = await open(path, ...rest);
  if (!/[\\/]tasks[\\/][^\\/]+\.jsonl$/.test(String(path))) return handle;
  const sync = handle.sync.bind(handle);
  handle.sync = async () => {
    await sync();
    if (--left === 0) process.kill(process.pid, 'SIGKILL');
  };
  return handle;
};
syncBuiltinESMExports();
