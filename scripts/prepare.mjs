// Runs before `npm start`, `npm test`, `npm run check` and `npm run bench`, on any Node >= 20 and without dependencies:
// installs the packages of package-lock.json if any is missing, checks that the Node for the hub is new enough, and
// builds the hub if its sources have changed. If nothing is to do, it reads three files and the times of the others.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBuild } from '../bin/build.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const ownNodeFolder = path.join(root, 'node_modules', 'node');
const requiredNodeMajor = 24;
/** Path of the lock file. It is not in the folder of temporary files, which may differ between processes. */
const lock = path.join(root, '.prepare.lock');
/** Interval in ms at which the holder of the lock renews it. */
const renewMs = 5_000;
/** Age in ms above which a lock is stale: the process that created it has died. */
const staleMs = 30_000;
const waitForOtherMs = 10 * 60_000;
/** Interval in ms at which the duration of a running step is printed. */
const tellMs = 4_000;

/**
 * Options of `npm ci`. Warnings and engine-strict are off: npm checks packages against the Node that runs npm, but another
 * Node runs the packages. NODE_ENV=production or a user's .npmrc may omit packages, of which the hub needs all.
 */
const installOptions = [
  '--loglevel=error',
  '--engine-strict=false',
  '--include=dev',
  '--include=optional',
];

/** The program that runs now, and the exit code of this process after a signal. */
let running;
let endedWith;

// The hub's image contains Node and the installed packages.
if (process.env.AGENTHUB_IN_CONTAINER === undefined) await prepare();

async function prepare() {
  if (isPrepared()) return;
  await alone(async () => {
    if (isPrepared()) return;
    await install();
    if (!runsOnNewEnoughNode()) {
      fail(
        `AgentHub needs Node ${requiredNodeMajor}, but ${process.version} would run it. The npm package ` +
          '"node" brings it if its install script may run: set ignore-scripts to false (npm config set ' +
          `ignore-scripts false), delete node_modules and try again, or put Node ${requiredNodeMajor} on the PATH.`,
      );
    }
    await build();
  });
}

function isPrepared() {
  // `npm ci` deletes the compile cache in node_modules, but not dist/ and the programs in images/. With these variables,
  // Node uses another cache or none.
  const { NODE_COMPILE_CACHE: otherCache, NODE_DISABLE_COMPILE_CACHE: isOff } = process.env;
  const compiled =
    otherCache || isOff ? [] : [path.join(root, 'node_modules', '.cache', 'agenthub')];
  const programs = ['agent', 'ollama-mcp'].map(name =>
    path.join(root, 'images', name, `${name}.mjs`),
  );
  return (
    whatIsMissing() === undefined &&
    findBuild(root) !== undefined &&
    [...compiled, ...programs].every(file => existsSync(file))
  );
}

/** Builds and compiles the hub. If that fails, the hub runs from its sources. */
async function build() {
  const node = majorOf(process.version) >= requiredNodeMajor ? process.execPath : ownNode();
  console.error('Building the hub, once.');
  const run = async script => {
    const file = path.join(root, 'scripts', script);
    return (await runStep('building', node, [file], { stdio: 'ignore' })).status === 0;
  };
  if (!(await run('build.mjs')))
    console.error(
      'The hub cannot be built, and starts slower from its sources: "node scripts/build.mjs" says why.',
    );
  if (!(await run('build-images.mjs')))
    console.error(
      'The programs of agents and of ollama-mcp cannot be built: "node scripts/build-images.mjs" says why.',
    );
  await run('compile.mjs');
}

/**
 * Runs a program, and prints its duration every few seconds. Resolves with its status, signal or error; never rejects.
 */
async function runStep(step, command, args, options) {
  const began = Date.now();
  const timer = setInterval(() => {
    console.error(`  ${step}, ${Math.round((Date.now() - began) / 1000)} s`);
  }, tellMs);
  try {
    return await new Promise(resolve => {
      running = spawn(command, args, options);
      running.once('error', error => resolve({ error, status: null, signal: null }));
      running.once('exit', (status, signal) => resolve({ status, signal }));
    });
  } finally {
    clearInterval(timer);
    running = undefined;
    if (endedWith !== undefined) process.exit(endedWith);
  }
}

/** Runs `work` with the lock, for which it waits. A lock that its process does not renew any more is removed. */
async function alone(work) {
  const deadline = Date.now() + waitForOtherMs;
  let said = false;
  while (!takeLock()) {
    if (lockAgeMs() > staleMs) rmSync(lock, { force: true });
    else if (Date.now() > deadline) {
      fail(`Another process prepares this folder and has not ended. If none runs, delete ${lock}.`);
    } else {
      if (!said) console.error('Waiting for another process that prepares this folder.');
      said = true;
      await new Promise(resolve => setTimeout(resolve, 250));
    }
  }
  const renewal = setInterval(renewLock, renewMs);
  process.once('exit', () => rmSync(lock, { force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, endBy);
  await work();
  clearInterval(renewal);
}

/**
 * Ends this process at a signal, once the running program has ended: until then, no other may prepare the folder. npm
 * takes some seconds to remove what it has installed.
 */
function endBy(signal) {
  endedWith = 128 + constants.signals[signal];
  if (running === undefined) process.exit(endedWith);
  console.error('Waiting for the running step to end.');
  running.kill(signal);
}

/** Returns true if this process now holds the lock, or needs none because it cannot write to the folder. */
function takeLock() {
  try {
    writeFileSync(lock, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    if (error.code === 'EACCES' || error.code === 'EROFS') return true;
    throw error;
  }
}

/**
 * Returns the age of the lock; 0 if there is none. A process id would prove nothing: containers and boots reuse ids.
 */
function lockAgeMs() {
  try {
    return Date.now() - statSync(lock).mtimeMs;
  } catch {
    return 0;
  }
}

function renewLock() {
  try {
    utimesSync(lock, new Date(), new Date());
  } catch {
    // If the folder is not writable, there is no lock file.
  }
}

async function install() {
  const missing = whatIsMissing();
  if (missing === undefined) return;
  console.error(`Installing dependencies from package-lock.json (${missing}).`);
  const { command, args } = npm();
  // npm deletes node_modules first, so neither npm nor its child processes may run on the Node in node_modules.
  const result = await runStep('installing', command, [...args, 'ci', ...installOptions], {
    cwd: root,
    stdio: 'inherit',
    // The install script of the package `node` runs npm again, which reads the variable. With the value `linked` in a
    // user's .npmrc, that npm would start the same script, without end.
    env: { ...process.env, ...pathWithoutOurs(), npm_config_install_strategy: 'hoisted' },
    shell: process.platform === 'win32' && args.length === 0,
  });
  if (result.error !== undefined) fail(`npm could not be started: ${result.error.message}.`);
  if (result.status !== 0) {
    const how = result.signal === null ? `exit code ${result.status}` : `signal ${result.signal}`;
    fail(
      `"npm ci" failed with ${how}; its own words are above. ` +
        'Check the network and npm settings (npm config list), then run the same command again.',
    );
  }
  const still = missingPackage();
  if (still !== undefined) fail(`"npm ci" reported success, but ${still}.`);
}

/** Returns the npm that runs this script, with its Node; the npm on the PATH if the script is run by hand. */
function npm() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env;
  const usable = script?.endsWith('.js') && node !== undefined && existsSync(node);
  return usable && !isOurs(node) ? { command: node, args: [script] } : { command: 'npm', args: [] };
}

function pathWithoutOurs() {
  const key = Object.keys(process.env).find(name => name.toUpperCase() === 'PATH') ?? 'PATH';
  const folders = (process.env[key] ?? '').split(path.delimiter);
  return { [key]: folders.filter(folder => !isOurs(folder)).join(path.delimiter) };
}

function isOurs(file) {
  return path.resolve(file).startsWith(path.join(root, 'node_modules') + path.sep);
}

/** Returns why an install is needed, such as "node_modules/zod is missing"; undefined if none is needed. */
function whatIsMissing() {
  const missing = missingPackage();
  if (missing !== undefined || runsOnNewEnoughNode()) return missing;
  return `the Node ${requiredNodeMajor} that runs the hub is missing`;
}

function missingPackage() {
  // npm writes this file at the end of an install, so after a failed install the file is missing or old.
  const installed = packages(path.join(root, 'node_modules', '.package-lock.json'));
  if (installed === undefined) return 'node_modules is missing or unfinished';
  const wanted = packages(path.join(root, 'package-lock.json'));
  if (wanted === undefined)
    fail('package-lock.json is missing or is not JSON: restore it from git.');
  for (const [place, entry] of Object.entries(wanted)) {
    if (place === '' || entry.link === true) continue;
    const there = installed[place];
    if (there === undefined && (entry.optional !== true || isForThisMachine(entry))) {
      return `${place} is missing`;
    }
    if (there !== undefined && there.version !== entry.version) {
      return `${place} is ${there.version}, not ${entry.version}`;
    }
  }
  return undefined;
}

function packages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * True if an optional package is for this platform. If it is missing, node_modules was installed on another platform.
 */
function isForThisMachine(entry) {
  if (entry.os === undefined || entry.cpu === undefined || entry.libc !== undefined) return false;
  return entry.os.includes(process.platform) && entry.cpu.includes(process.arch);
}

/**
 * True if this Node or the one in node_modules is new enough. npm puts node_modules/.bin first on the PATH of its
 * scripts, so the Node in node_modules runs the hub.
 */
function runsOnNewEnoughNode() {
  if (majorOf(process.version) >= requiredNodeMajor) return true;
  if (!existsSync(ownNode())) return false;
  try {
    const { version } = JSON.parse(read(path.join(ownNodeFolder, 'package.json')));
    return majorOf(version) >= requiredNodeMajor;
  } catch {
    return false;
  }
}

/** Returns the path of the Node that the package `node` installs. */
function ownNode() {
  return path.join(ownNodeFolder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}

function majorOf(version) {
  return Number(version.replace(/^v/, '').split('.')[0]);
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
