// npm run release [-- --out FOLDER --folder FOLDER --no-image]: builds and checks a release: the npm package, a compose
// file that needs no clone, and the image in that file. The package is installed into an empty folder (--folder,
// otherwise a temporary folder) with an empty home, and its hub must answer. Publishes nothing.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseDocument } from 'yaml';

const root = path.dirname(import.meta.dirname);
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: path.join(root, 'release') },
    folder: { type: 'string' },
    'no-image': { type: 'boolean', default: false },
  },
});
const out = path.resolve(values.out);
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const image = `agenthub:${version}`;
const answerMs = 60_000;
/** Files in configs/ that the package may contain. Other config files may contain keys of users. */
const allowedConfigs = /^configs\/[\w-]+\.(?:default|schema)\.json$/;

mkdirSync(out, { recursive: true });
const scratch = mkdtempSync(path.join(tmpdir(), 'agenthub-release-'));
try {
  const compose = writeCompose();
  if (!values['no-image'])
    run('docker', ['build', '--tag', image, '--file', 'images/hub/Dockerfile', '.']);
  const archive = pack();
  await tryOut(archive);
  for (const file of [archive, compose])
    console.log(`${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${file}`);
  if (!values['no-image']) console.log(`image ${image}`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Writes the compose file of the release, with an image instead of a build, and with ./config as the config folder. */
function writeCompose() {
  const document = parseDocument(readFileSync(path.join(root, 'docker-compose.yml'), 'utf8'));
  if (document.getIn(['x-hub', 'image']) !== image)
    throw new Error(`docker-compose.yml: the image is not ${image}, the version of package.json`);
  document.deleteIn(['x-hub', 'build']);
  document.commentBefore = ` AgentHub ${version} and what it uses, without a clone: docker compose up -d --wait\n Servers: ./config/mcp-servers.json, once it exists (docs/operate.md).`;
  const hub = ['services', 'hub'];
  document.setIn([...hub, 'environment', 'MCP_SERVERS_CONFIG'], '/config/mcp-servers.json');
  const volumes = document.getIn([...hub, 'volumes']).items;
  const mount = volumes.find(({ value }) => value === './configs:/app/configs');
  if (!mount) throw new Error('docker-compose.yml: ./configs:/app/configs is not mounted');
  mount.value = './config:/config';
  const file = path.join(out, 'docker-compose.yml');
  writeFileSync(file, document.toString());
  return file;
}

/** Makes the npm package and returns its path. Throws if the package contains config files of a user. */
function pack() {
  const text = run('npm', ['pack', '--json', '--pack-destination', out]);
  // The output of the package's scripts precedes the JSON.
  const [{ filename, files }] = JSON.parse(text.slice(text.search(/^\[$/m)));
  const foreign = files
    .map(({ path: name }) => name)
    .filter(name => name.startsWith('configs/') && !allowedConfigs.test(name));
  if (foreign.length > 0) throw new Error(`the package contains ${foreign.join(', ')}`);
  return path.join(out, filename);
}

/**
 * Installs the package and starts its hub as a new user would. Rejects if a version is wrong or the hub does not
 * answer.
 */
async function tryOut(archive) {
  const folder = values.folder ?? path.join(scratch, 'folder');
  const home = path.join(scratch, 'home');
  for (const each of [folder, home]) mkdirSync(each, { recursive: true });
  const quick = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...quick, archive], { cwd: folder });
  const env = environmentOf(home);
  const told = run('npx', ['agenthub', 'version'], { cwd: folder, env }).trim();
  if (told !== version) throw new Error(`npx agenthub version prints ${told}, not ${version}`);
  const child = spawn('npx', ['agenthub', 'serve', '--port', '0'], { cwd: folder, env });
  try {
    const health = await fetch(`${await addressOf(child)}/health`);
    const { version: answered } = await health.json();
    if (answered !== version) throw new Error(`/health names version ${answered}`);
  } finally {
    child.kill('SIGTERM');
  }
  await new Promise(resolve => child.once('close', resolve));
}

/** Returns the environment of a new user. Its Docker engine does not exist, so that no images of servers are built. */
function environmentOf(home) {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(?:npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$|XDG_|DATA_DIR$|MCP_SERVERS_CONFIG$)/i.test(
        name,
      ),
  );
  return {
    ...Object.fromEntries(kept),
    AGENTHUB_HOME: home,
    LOG_FORMAT: 'json',
    DOCKER_HOST: 'unix:///nonexistent/docker.sock',
  };
}

/** Resolves with the address that a hub prints. Rejects if the hub exits or prints none in time. */
async function addressOf(child) {
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers();
  const timer = setTimeout(
    () => reject(new Error(`the hub does not listen:\n${output}`)),
    answerMs,
  );
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk;
      const [, url] = /answers at (\S+)\/mcp/.exec(output) ?? [];
      if (url) resolve(url);
    });
  child.once('exit', code => reject(new Error(`the hub ended with ${code}:\n${output}`)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

function run(command, args, options = {}) {
  return execFileSync(command, args, { cwd: root, maxBuffer: 64 * 2 ** 20, ...options }).toString();
}
