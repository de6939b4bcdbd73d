import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { connectEra } from '#helpers/eras';
import { type HubProcess, startHub } from '#helpers/hub-process';
import { readNote } from '../../hub/documentation/notes/frontmatter.ts';
import { brokenLinks, checkCitations, readNotes } from '../documentation/harness.ts';
import { git, writeFiles } from '../repositories/harness.ts';

const bin = join(import.meta.dirname, '../../bin/agenthub.mjs');
/** Number of modules of a repository whose documentation takes long enough to kill the hub, and of a small one. */
const [many, few] = [120, 12];

let home: string;
let vault: string;
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'agenthub-documentation-')));
  vault = join(home, 'vault');
  mkdirSync(join(vault, '.obsidian'), { recursive: true });
  writeFileSync(join(vault, '.obsidian', 'app.json'), '{}');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Creates a repository whose modules import each other in a circle. */
function createRepository(modules: number): string {
  const repo = join(home, `repo-${modules}`);
  mkdirSync(repo);
  git(repo, 'init', '--quiet', '--initial-branch=main');
  const files = Array.from({ length: modules }, (_, at) => [
    `src/m${at}/index.ts`,
    `import { f${(at + 1) % modules} } from '../m${(at + 1) % modules}/index.ts';\n\n/** Calls the next one. */\nexport const f${at} = () => f${(at + 1) % modules};\n`,
  ]);
  writeFiles(repo, Object.fromEntries(files));
  git(repo, 'add', '--all');
  git(repo, 'commit', '--quiet', '--message=first');
  return repo;
}

/** Starts a hub without an engine, which may document repositories in `home`. */
const start = async (dataDir: string): Promise<HubProcess> =>
  await startHub({
    config: { repositories: [home], documentation: { vault }, servers: {} },
    dataDir,
    env: { DOCKER_HOST: `unix://${join(home, 'no-engine.sock')}` },
  });

async function begin(hub: HubProcess, body: object): Promise<string> {
  const response = await fetch(`${hub.url}/pipelines/documentation`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  assert.equal(response.status, 202, JSON.stringify(answer));
  return isObject(answer) ? String(answer['job_id']) : '';
}

/** Waits for the end of a job through its event stream, and returns the result. */
async function endOf(hub: HubProcess, id: string) {
  await (await fetch(`${hub.url}/jobs/${id}/events`)).text();
  const job: unknown = await (
    await fetch(`${hub.url}/jobs/${id}`, { headers: hub.ownerHeaders })
  ).json();
  assert.ok(isObject(job));
  assert.equal(job['state'], 'done', JSON.stringify(job['error']));
  return isObject(job['result']) ? job['result'] : {};
}

test('a killed hub leaves whole notes only, and the next one finishes the job', async () => {
  const repo = createRepository(many);
  const dataDir = join(home, 'data');
  const folder = join(vault, 'killed');
  mkdirSync(folder);
  const first = await start(dataDir);
  const watcher = watch(folder);
  const id = await begin(first, { repo_path: repo, project_name: 'killed' });
  while (readdirSync(folder).length < 30) await once(watcher, 'change');
  await first.kill();
  watcher.close();
  const half = readNotes(folder);
  assert.ok(half.size < many + 3, `${half.size} notes are there already`);
  for (const [name, text] of half)
    assert.equal(readNote(text).isEdited, false, `${name} is not whole`);
  await first[Symbol.asyncDispose]();

  await using next = await start(dataDir);
  const result = await endOf(next, id);
  const notes = readNotes(folder);
  assert.deepEqual([notes.size, result['replaced'], result['removed']], [many + 3, 0, 0]);
  assert.ok(Number(result['kept']) >= half.size - 1);
  assert.deepEqual([brokenLinks(notes), checkCitations(repo, notes).wrong], [[], []]);
  assert.deepEqual(
    readdirSync(folder).filter(name => !name.endsWith('.md')),
    [],
    'no temporary files',
  );
});

test(
  'clients, the command line and plugins of Obsidian find their way',
  { timeout: 120_000 },
  async () => {
    const repo = createRepository(few);
    await using hub = await start(join(home, 'data-of-clients'));
    await using client = await connectEra('2025', `${hub.url}/mcp`, { sampling: false });
    const said = await client.call('documentation_document_repository', {
      repo_path: repo,
      project_name: 'by tool',
      dry_run: true,
    });
    assert.match(said, new RegExp(`"created":${few + 3}`));
    assert.match(
      await client.call('documentation_document_repository', { repo_path: '/', project_name: 'x' }),
      /HUB_PATH_REFUSED|not in a folder/,
    );

    const cli = (...args: readonly string[]) =>
      execFileSync(process.execPath, [bin, ...args, '--url', hub.url], {
        encoding: 'utf8',
        cwd: home,
        env: { ...process.env, DATA_DIR: hub.dataDir },
      });
    assert.match(
      cli('docs', repo, '--vault', vault, '--name', 'by cli'),
      new RegExp(`Wrote ${few + 3} new and 0 changed notes in ${vault}`),
    );
    // In a pipe the command prints only the start and the result, without a line for each batch.
    assert.match(
      cli('docs', repo, '--name', 'by cli'),
      /^Documenting \S+ \(job \S+\)\nWrote 0 new and 0 changed notes/,
    );
    const printed: unknown = JSON.parse(
      cli('docs', repo, '--vault', vault, '--dry-run', '--name', 'by cli', '--json'),
    );
    assert.ok(
      isObject(printed) && isObject(printed['result']) && printed['result']['dry_run'] === true,
    );
    assert.match(
      cli('connect', 'obsidian'),
      new RegExp(
        `no MCP client of its own.*\nAddress for plugins: ${hub.url.replace('127.0.0.1', '(?:127.0.0.1|localhost)')}/mcp`,
      ),
    );

    const outside = await fetch(`${hub.url}/pipelines/documentation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ repo_path: tmpdir(), project_name: 'x' }),
    });
    assert.equal(outside.status, 403);
    const page = await (await fetch(`${hub.url}/dashboard/jobs`)).text();
    assert.match(page, /Document by cli/);
  },
);
