// Records the digests of the images that Dockerfiles and compose files name, for a release: `node scripts/digests.mjs`
// pulls each image and writes its digest to images/digests.json. --check compares the digests instead; --list prints
// the names of the images.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);
const record = join(root, 'images', 'digests.json');
const read = path => readFileSync(join(root, path), 'utf8');

/** Returns the base images of a Dockerfile, without the names of its own stages. */
function basesOf(dockerfile) {
  const text = read(dockerfile);
  const stages = [...text.matchAll(/^FROM .* AS (\S+)$/gm)].map(match => match[1]);
  return [...text.matchAll(/^(?:FROM|ARG BASE=) ?([^\s$]+)/gm)]
    .map(match => match[1])
    .filter(name => !stages.includes(name));
}

/** Returns the names of all images in Dockerfiles and compose files, except those that are built from them. */
function images() {
  const dockerfiles = readdirSync(join(root, 'images'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => `images/${entry.name}/Dockerfile`);
  const composeFiles = readdirSync(join(root, 'compose'))
    .filter(name => name.endsWith('.yml'))
    .map(name => `compose/${name}`);
  const found = [
    ...dockerfiles.flatMap(basesOf),
    ...['docker-compose.yml', ...composeFiles].flatMap(path =>
      [...read(path).matchAll(/^ *image: *(\S+)$/gm)].map(match => match[1]),
    ),
  ];
  return [...new Set(found)].filter(name => !name.startsWith('agenthub:')).toSorted();
}

function digestOf(image) {
  execFileSync('docker', ['pull', '--quiet', image], { stdio: ['ignore', 'ignore', 'inherit'] });
  const format = '{{range .RepoDigests}}{{println .}}{{end}}';
  const digests = execFileSync('docker', ['image', 'inspect', '--format', format, image]);
  const digest = /@(sha256:[0-9a-f]{64})/.exec(digests.toString())?.[1];
  if (digest === undefined) throw new Error(`${image} has no digest: it was built on this machine`);
  return digest;
}

if (process.argv[2] === '--list') {
  process.stdout.write(`${images().join('\n')}\n`);
} else {
  const found = Object.fromEntries(images().map(image => [image, digestOf(image)]));
  if (process.argv[2] === '--check') {
    const recorded = JSON.parse(readFileSync(record, 'utf8'));
    const names = new Set([...Object.keys(found), ...Object.keys(recorded)]);
    const differ = [...names].filter(name => found[name] !== recorded[name]);
    for (const name of differ)
      process.stderr.write(`${name} is ${found[name]}, and was ${recorded[name]} at the release\n`);
    process.exitCode = differ.length === 0 ? 0 : 1;
  } else {
    writeFileSync(record, `${JSON.stringify(found, undefined, 2)}\n`);
  }
}
