import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isObject } from '#core';

const run = promisify(execFile);

/** The official MCP SDK on PyPI. */
const sdk = 'mcp==2.3.0';
const shared = join(tmpdir(), `agenthub-tests-${sdk.replace('==', '-')}`);
const pythonIn = (folder: string) => join(folder, 'bin', 'python');

/** In CI a missing SDK fails the tests. Elsewhere they are skipped. */
const isRequired = Boolean(process.env['CI']) || process.env['AGENTHUB_REQUIRE_ENGINE'] === '1';

/**
 * Returns a Python with the official SDK, in a venv that all test runs share, or the reason why the SDK cannot be
 * installed. In CI it throws instead.
 */
export async function pythonWithSdk(): Promise<
  { readonly python: string } | { readonly missing: string }
> {
  if (existsSync(pythonIn(shared))) return { python: pythonIn(shared) };
  const folder = await mkdtemp(`${shared}-`);
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-compile',
      '--disable-pip-version-check',
      sdk,
    ];
    await run(pythonIn(folder), pip);
    // A venv can be renamed: only its scripts contain the old path, and the interpreter finds its packages anywhere.
    await rename(folder, shared);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    // A parallel run may have created the folder first.
    if (!existsSync(pythonIn(shared))) {
      if (isRequired) throw error;
      return { missing: `${sdk} cannot be installed: ${String(error).split('\n')[0]}` };
    }
  }
  return { python: pythonIn(shared) };
}

/** Runs a program and parses its stdout as JSON. Rejects with its stderr if it fails. */
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
