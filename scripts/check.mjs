// Checks types, lint rules and formatting at the same time. Prints what each found, one after the other, and ends with 1
// if any of them found something.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Runs the program of a development dependency, and resolves with true if it succeeds. */
function succeeds(program, ...args) {
  const windows = process.platform === 'win32';
  const command = path.join(root, 'node_modules', '.bin', windows ? `${program}.cmd` : program);
  const options = { cwd: root, maxBuffer: 64 * 2 ** 20, shell: windows };
  return new Promise(resolve => {
    execFile(command, args, options, (error, stdout, stderr) => {
      process.stdout.write(`${program} ${args.join(' ')}\n${stdout}`);
      process.stderr.write(stderr);
      if (error && typeof error.code !== 'number') console.error(error.message);
      resolve(error === null);
    });
  });
}

const checks = [
  succeeds('tsc', '-p', '.'),
  succeeds('oxlint', '--type-aware'),
  succeeds('oxfmt', '--check'),
];
if ((await Promise.all(checks)).includes(false)) process.exitCode = 1;
