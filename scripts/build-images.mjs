// Bundles the programs of images/agent and images/ollama-mcp into one file each, which starts five times as fast. Run
// by prepare.mjs in a clone, and before `npm pack`.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

const root = path.dirname(import.meta.dirname);

/** Programs to bundle. `shared`: folders of the hub from which the bundle may contain code. */
const programs = [
  { folder: 'images/agent', output: 'agent.mjs', shared: [] },
  {
    folder: 'images/ollama-mcp',
    output: 'ollama-mcp.mjs',
    shared: ['hub/core', 'hub/jsonrpc', 'hub/models'],
  },
];

/**
 * Packages that are imported but not used, and replaced by stubs: model providers, because the hub provides the models,
 * exporters and validators.
 */
const unused =
  /^(@aws-sdk\/|@smithy\/|openai|@anthropic-ai\/|@google\/genai|@ai-sdk\/|@a2a-js\/|express|ajv(-formats)?($|\/)|@opentelemetry\/(sdk|exporter|resources))/;
const stub =
  'module.exports = new Proxy({}, { get: (_, key) => (key === "__esModule" ? false : class {}) });';

for (const program of programs) await build(program);

async function build({ folder, output, shared }) {
  const file = path.join(root, folder, output);
  const source = `${folder}/source`;
  const mark = `// ${digestOf([source, ...shared])}\n`;
  if (isCurrent(file, mark)) return;
  const bundle = await rolldown({
    cwd: root,
    input: path.join(root, source, 'main.ts'),
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
  const code = chunks[0];
  const foreign = code.moduleIds.find(
    id =>
      id.startsWith(path.join(root, 'hub') + path.sep) &&
      !shared.some(one => id.startsWith(path.join(root, one) + path.sep)),
  );
  if (foreign) throw new Error(`${foreign} is in ${output}: add its folder to "shared"`);
  const draft = `${file}.${process.pid}.new`;
  try {
    writeFileSync(draft, `${mark}${code.code}`);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns a digest of the sources, package-lock.json and this script. It is the first line of a bundle. */
function digestOf(folders) {
  const files = folders.flatMap(folder =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => path.join(entry.parentPath, entry.name))
      .toSorted(),
  );
  const digest = createHash('sha256');
  for (const file of [...files, path.join(root, 'package-lock.json'), import.meta.filename])
    digest.update(path.relative(root, file)).update(readFileSync(file));
  return digest.digest('hex');
}

function isCurrent(file, mark) {
  try {
    return readFileSync(file, 'utf8').startsWith(mark);
  } catch {
    return false;
  }
}
