// JSON-RPC server that gives the hub access to one folder, and to the git repository in it: see README.md.
import { createInterface } from 'node:readline';
import { createBatchReader } from './batch.mjs';
import { openFolder } from './folder.mjs';
import { runGit } from './git.mjs';
import { inspectLayout } from './layout.mjs';
import { giveWay } from './priority.mjs';

giveWay();
const [root] = process.argv.slice(2);
const folders = openFolder(root);
const batch = createBatchReader(root);

/** Abort controllers of running git commands, by the id of their request. */
const running = new Map();

const methods = {
  place: () => folders.place(),
  inspect: () => inspectLayout(folders),
  git: (params, id) =>
    params.finishes
      ? runGit(root, params)
      : cancellable(id, signal => runGit(root, params, signal)),
  objects: (params, id) => cancellable(id, signal => batch.print(params, signal)),
  read: ({ folder, path, maxBytes }) => folders.read(folder, path, maxBytes),
  write: ({ folder, files, isNew }) => folders.write(folder, files, isNew),
  remove: ({ folder, paths }) => folders.remove(folder, paths),
  removeFolder: ({ folder }) => folders.removeFolder(folder),
  obstacles: ({ folder, paths }) => folders.obstacles(folder, paths),
  folders: ({ folder }) => folders.folders(folder),
  list: ({ folder, max }) => folders.list(folder, max),
};

async function cancellable(id, work) {
  const abort = new AbortController();
  running.set(id, abort);
  try {
    return await work(abort.signal);
  } finally {
    running.delete(id);
  }
}

const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function answer({ id, method, params }) {
  try {
    send({ id, result: (await methods[method](params ?? {}, id)) ?? {} });
  } catch (error) {
    const data = { code: error.code };
    send({ id, error: { code: -32000, message: String(error.message), data } });
  }
}

// When the hub closes stdin, the requests are cancelled, but for those that finish, and the driver exits.
const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on('line', line => {
  const message = JSON.parse(line);
  if (message.method === 'cancel') running.get(message.params.id)?.abort();
  else void answer(message);
});
lines.on('close', () => {
  for (const abort of running.values()) abort.abort();
  batch.stop();
  process.stdin.destroy();
});
