// Runs git with arguments and environment from the hub, with a timeout and a limit of the output.
import { spawn } from 'node:child_process';

/** Time in ms between SIGTERM and SIGKILL, in which git removes its lock files. */
const graceMs = 2_000;
const maxErrorBytes = 16_384;

/** Environment variables of the driver that git inherits. */
const inherited = ['PATH', 'HOME', 'SYSTEMROOT', 'TMPDIR', 'TEMP', 'TMP'];

/** Starts git. `isApart`: in a process group of its own, so that it outlives a signal to that of the driver. */
export function startGit(root, args, env, isApart = false) {
  const base = Object.fromEntries(
    inherited.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  // The working folder is not the repository, because Windows looks for programs in the working folder first.
  return spawn('git', ['-C', root, ...args], {
    cwd: import.meta.dirname,
    env: { ...base, ...env },
    detached: isApart && process.platform !== 'win32',
    windowsHide: true,
  });
}

export function runGit(root, { args, env, input, maxBytes, timeoutMs, finishes }, signal) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const child = startGit(root, args, env, finishes);
  const stdout = [];
  let bytes = 0;
  let isTruncated = false;
  let timedOut = false;
  let stderr = '';
  let forced;

  // On SIGTERM git removes its lock files.
  const end = () => {
    child.kill('SIGTERM');
    forced ??= setTimeout(() => child.kill('SIGKILL'), graceMs);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, timeoutMs);
  signal?.addEventListener('abort', end);

  child.stdout.on('data', chunk => {
    if (isTruncated) return;
    const rest = maxBytes - bytes;
    stdout.push(chunk.length > rest ? chunk.subarray(0, rest) : chunk);
    bytes += Math.min(chunk.length, rest);
    if (chunk.length <= rest) return;
    isTruncated = true;
    end();
  });
  child.stderr.on('data', chunk => {
    stderr = `${stderr}${chunk.toString()}`.slice(-maxErrorBytes);
  });
  // Git may end before it has read its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input === undefined ? '' : Buffer.from(input, 'base64'));
  child.on('error', error => {
    clearTimeout(timer);
    reject(error);
  });
  child.on('close', code => {
    clearTimeout(timer);
    clearTimeout(forced);
    signal?.removeEventListener('abort', end);
    resolve({
      code: code ?? -1,
      stdout: Buffer.concat(stdout).toString('base64'),
      stderr,
      isTruncated,
      timedOut,
    });
  });
  return promise;
}
