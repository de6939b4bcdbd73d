import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isObject } from '#core';

const run = promisify(execFile);

/** The official SDK from PyPI. */
const sdk = 'mcp==2.3.0';
const shared = join(tmpdir(), `agenthub-tests-${sdk.replace('==', '-')}`);
const pythonIn = (folder: string) => join(folder, 'bin', 'python');

/** In CI what cannot be had is a failure, and is not skipped. */
const isRequired = Boolean(process.env['CI']) || process.env['AGENTHUB_REQUIRE_ENGINE'] === '1';

/**
 * A Python with the official SDK, in a folder that all runs of the tests share; else why there is none. Throws
 * in CI where there is none.
 */
export async function pythonWithSdk(): Promise<
  { readonly python: string } | { readonly missing: string }
> {
  if (existsSync(pythonIn(shared))) return { python: pythonIn(shared) };
  const folder = await mkdtemp(`${shared}-`);
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', sdk];
    await run(pythonIn(folder), pip);
    // Scripts in it name the folder it was made in; the interpreter finds its packages wherever it is.
    await rename(folder, shared);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    // Another run was faster.
    if (!existsSync(pythonIn(shared))) {
      if (isRequired) throw error;
      return { missing: `${sdk} cannot be installed: ${String(error).split('\n')[0]}` };
    }
  }
  return { python: pythonIn(shared) };
}

/** What a program writes to its stdout, as JSON. Rejects where it fails, with what it wrote to its stderr. */
export async function jsonOf(
  python: string,
  args: readonly string[],
): Promise<{ readonly [name: string]: unknown }> {
  const child = spawn(python, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.toArray(),
    child.stderr.toArray(),
    new Promise(resolve => child.on('close', resolve)),
  ]);
  if (code !== 0) throw new Error(`exit code ${String(code)}: ${Buffer.concat(stderr).toString()}`);
  const value: unknown = JSON.parse(Buffer.concat(stdout).toString());
  return isObject(value) ? value : {};
}
