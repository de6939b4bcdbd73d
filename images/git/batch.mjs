// Prints git objects with a `git cat-file --batch` process that is reused: starting git takes several ms.
import { startGit } from './git.mjs';

/** Time in ms without a request after which the git process is stopped. */
const idleMs = 2_000;
const maxErrorBytes = 16_384;

export function createBatchReader(root) {
  /** The running git process, and a key of its arguments and environment. */
  let kept;
  let last = Promise.resolve();

  function start(args, env) {
    const key = JSON.stringify([args, env]);
    if (kept?.key === key) {
      clearTimeout(kept.idle);
      return kept;
    }
    stop();
    const started = { key, child: startGit(root, args, env), stderr: '', idle: undefined };
    started.child.stderr.on('data', chunk => {
      started.stderr = `${started.stderr}${chunk}`.slice(-maxErrorBytes);
    });
    // Git may end before it has read its input, and between two requests.
    started.child.stdin.on('error', () => {});
    for (const event of ['error', 'close']) started.child.on(event, () => forget(started));
    kept = started;
    return started;
  }

  function forget(ended) {
    clearTimeout(ended.idle);
    if (kept === ended) kept = undefined;
  }

  function stop() {
    kept?.child.stdin.end();
    if (kept) forget(kept);
  }

  function print({ args, env, input, objects, maxBytes, timeoutMs }, signal) {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers();
    const reader = start(args, env);
    const { child } = reader;
    const output = collect(objects, maxBytes);
    let timedOut = false;
    const kill = () => child.kill('SIGKILL');
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, timeoutMs);

    function finish(code) {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      child.stdout.off('data', read);
      child.off('error', failed).off('close', finish);
      const { stdout, isTruncated } = output;
      resolve({ code: code ?? -1, stdout, stderr: reader.stderr, isTruncated, timedOut });
    }
    function failed(error) {
      reject(error);
      finish(-1);
    }
    function read(chunk) {
      if (output.add(chunk)) {
        reader.idle = setTimeout(stop, idleMs);
        finish(0);
      } else if (output.isTruncated) kill();
    }

    child.stdout.on('data', read);
    child.on('error', failed).on('close', finish);
    signal.addEventListener('abort', kill);
    child.stdin.write(Buffer.from(input, 'base64'));
    return promise;
  }

  return {
    /** Queues a request: one runs at a time. */
    print(params, signal) {
      const printed = last.then(() => print(params, signal));
      last = printed.catch(() => {});
      return printed;
    },
    stop,
  };
}

/**
 * Collects the output until it contains `objects` objects: each is a line with its size, its content and a line feed.
 */
function collect(objects, maxBytes) {
  const chunks = [];
  let bytes = 0;
  let isTruncated = false;
  let missing = objects;
  let header = '';
  let content = 0;

  function count(chunk) {
    let at = 0;
    while (at < chunk.length && missing > 0) {
      if (content > 0) {
        const part = Math.min(content, chunk.length - at);
        at += part;
        content -= part;
        if (content === 0) missing--;
        continue;
      }
      const end = chunk.indexOf(0x0a, at);
      header += chunk.toString('latin1', at, end < 0 ? chunk.length : end);
      at = end < 0 ? chunk.length : end + 1;
      if (end < 0) continue;
      const size = /^[0-9a-f]+ \w+ (\d+)$/.exec(header)?.[1];
      header = '';
      // The header of a missing object has no size, and no content follows.
      if (size === undefined) missing--;
      else content = Number(size) + 1;
    }
  }

  return {
    /** Adds a chunk of the output. Returns true once all objects are complete. */
    add(chunk) {
      if (isTruncated) return false;
      const rest = maxBytes - bytes;
      isTruncated = chunk.length > rest;
      chunks.push(isTruncated ? chunk.subarray(0, rest) : chunk);
      bytes += Math.min(chunk.length, rest);
      count(chunk);
      return !isTruncated && missing === 0;
    },
    get isTruncated() {
      return isTruncated;
    },
    get stdout() {
      return Buffer.concat(chunks).toString('base64');
    },
  };
}
