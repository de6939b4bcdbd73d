// Makes images/agent/agent.mjs: the program of agents as one file, which starts in a fifth of the time of its packages.
// Run by prepare.mjs for the clone, and before `npm pack`.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

const root = path.dirname(import.meta.dirname);
const folder = path.join(root, 'images', 'agent');
const output = path.join(folder, 'agent.mjs');
const source = path.join(folder, 'source');

/** Providers and exporters of the SDK that the agent does not use: its models are those of the hub. */
const unused =
  /^(@aws-sdk\/|@smithy\/|openai|@anthropic-ai\/|@google\/genai|@ai-sdk\/|@a2a-js\/|express|@opentelemetry\/(sdk|exporter|resources))/;
const stub =
  'module.exports = new Proxy({}, { get: (_, key) => (key === "__esModule" ? false : class {}) });';

/** Of the sources and the versions of all packages. The first line of the bundle has it. */
function digestOfSources() {
  const files = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath, entry.name))
    .toSorted();
  const digest = createHash('sha256');
  for (const file of [...files, path.join(root, 'package-lock.json'), import.meta.filename])
    digest.update(path.relative(root, file)).update(readFileSync(file));
  return digest.digest('hex');
}

function isCurrent(mark) {
  try {
    return readFileSync(output, 'utf8').startsWith(mark);
  } catch {
    return false;
  }
}

const mark = `// ${digestOfSources()}\n`;
if (!isCurrent(mark)) {
  const bundle = await rolldown({
    cwd: root,
    input: path.join(source, 'main.ts'),
    platform: 'node',
    tsconfig: false,
    plugins: [
      {
        name: 'unused packages',
        resolveId: id => (unused.test(id) ? `\0unused:${id}` : undefined),
        load: id => (id.startsWith('\0unused:') ? { code: stub, moduleType: 'js' } : undefined),
      },
    ],
  });
  const { output: chunks } = await bundle.generate({ format: 'esm', codeSplitting: false });
  await bundle.close();
  const draft = `${output}.${process.pid}.new`;
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(draft, `${mark}${chunks[0].code}`);
    renameSync(draft, output);
  } finally {
    rmSync(draft, { force: true });
  }
}
