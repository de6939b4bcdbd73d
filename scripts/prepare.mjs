// Runs before `npm start`, `npm test`, `npm run check` and `npm run bench`, on whatever Node (>= 20) the
// machine has and with no dependency of its own: installs what package-lock.json says when it is
// not there, makes sure that the Node which runs the hub is new enough, and builds the hub where its
// sources have changed. With all in place it reads three files, looks at the times of others, and is done.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBuild } from '../bin/build.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const ownNodeFolder = path.join(root, 'node_modules', 'node');
const requiredNodeMajor = 24;
/** In the folder that it guards: processes may have different folders for temporary files. */
const lock = path.join(root, '.prepare.lock');
/** Interval in ms at which the holder of the lock renews it. */
const renewMs = 5_000;
/** Age in ms above which the process that made a lock has died. */
const staleMs = 30_000;
const waitForOtherMs = 10 * 60_000;
/** Interval in ms at which a step that goes on says so. */
const tellMs = 4_000;

// The image brings its own Node and was installed when it was built.
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
  // An install deletes what was compiled, and leaves what was built.
  const compiled = path.join(root, 'node_modules', '.cache', 'agenthub');
  const programs = ['agent', 'ollama-mcp'].map(name =>
    path.join(root, 'images', name, `${name}.mjs`),
  );
  return (
    whatIsMissing() === undefined &&
    findBuild(root) !== undefined &&
    [compiled, ...programs].every(file => existsSync(file))
  );
}

/** Builds and compiles the hub. It runs without either, from its sources. */
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

/** Runs a program, and says every few seconds that it goes on and for how long. Never rejects. */
async function runStep(step, command, args, options) {
  const began = Date.now();
  const timer = setInterval(() => {
    console.error(`  ${step}, ${Math.round((Date.now() - began) / 1000)} s`);
  }, tellMs);
  try {
    return await new Promise(resolve => {
      const child = spawn(command, args, options);
      child.once('error', error => resolve({ error, status: null, signal: null }));
      child.once('exit', (status, signal) => resolve({ status, signal }));
    });
  } finally {
    clearInterval(timer);
  }
}

/** Runs `work` while no other process prepares this folder. One that has died does not renew its lock. */
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
  await work();
  clearInterval(renewal);
}

/** True if this process holds the lock now, or cannot write to the folder, and so cannot prepare it. */
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

/** 0 if there is no lock any more. Not judged by the id of a process: containers and earlier boots have the same ones. */
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
    // A folder that cannot be written has no lock.
  }
}

async function install() {
  const missing = whatIsMissing();
  if (missing === undefined) return;
  console.error(`Installing dependencies from package-lock.json (${missing}).`);
  const { command, args } = npm();
  // npm deletes node_modules first, so neither it nor what it starts may run on the Node in there.
  // No warnings: npm judges packages by the Node that it runs on itself, and they run on another.
  const result = await runStep('installing', command, [...args, 'ci', '--loglevel=error'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...pathWithoutOurs() },
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

/** The npm that runs this script, by the Node it runs on; the one on the PATH when run by hand. */
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

/** Why an install is needed, in words that end a sentence; undefined when it is not. */
function whatIsMissing() {
  const missing = missingPackage();
  if (missing !== undefined || runsOnNewEnoughNode()) return missing;
  return `the Node ${requiredNodeMajor} that runs the hub is missing`;
}

function missingPackage() {
  // npm writes this file at the end of an install, so a broken one leaves none or an older one.
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

/** True for an optional package that names this platform: without it the install is another machine's. */
function isForThisMachine(entry) {
  if (entry.os === undefined || entry.cpu === undefined || entry.libc !== undefined) return false;
  return entry.os.includes(process.platform) && entry.cpu.includes(process.arch);
}

/** npm puts node_modules/.bin first on the PATH of its scripts, so the Node in there runs the hub. */
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

/** The Node that comes in as a dependency, where it is there. */
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
