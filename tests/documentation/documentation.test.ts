import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { unlessAborted } from '#core';
import { caller } from '#helpers/principal';
import { parseDocumentationRequest } from '../../hub/documentation/request.ts';
import { failureOf, git, writeFiles } from '../repositories/harness.ts';
import {
  brokenLinks,
  checkCitations,
  createDocumentationScene,
  noModels,
  resultOf,
} from './harness.ts';

const files = {
  'package.json':
    '{\n  "name": "app",\n  "bin": "src/main.ts",\n  "scripts": { "start": "node src/main.ts" }\n}\n',
  'README.md': '# App\n\nAn app that counts words in texts.\n',
  '.env': 'TOKEN=1\n',
  'src/main.ts':
    "import { count } from './words/count.ts';\n\n/** Starts the app. */\nexport function main(): void {\n  count('');\n}\n",
  'src/words/count.ts':
    '/** Counts the words of a text. */\nexport const count = (text: string): number => text.split(" ").length;\n',
  'src/words/leak.ts': `export const key = '${'AKIA'}${'J3QX7ZK2M5TB9WLD'}';\n`,
  'tests/count.test.ts': "import { count } from '../src/words/count.ts';\n\ncount('a');\n",
};

let scene: ReturnType<typeof createDocumentationScene>;
beforeAll(() => {
  scene = createDocumentationScene();
});
afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
});

test('a module has a note with its exports, its users and its tests', async () => {
  const repo = scene.create(files);
  const result = resultOf(await scene.run({ repo_path: repo, project_name: 'notes' }));
  assert.equal(result['model'], null);
  assert.match(String(result['note']), /without a model/);
  assert.deepEqual(result['secrets_excluded'], ['.env', 'src/words/leak.ts']);
  const notes = scene.notes('notes');
  assert.deepEqual([...notes.keys()].toSorted(), [
    'notes - Architecture',
    'notes - Index',
    'notes - README',
    'notes - src',
    'notes - src - words',
    'notes - tests',
  ]);
  const words = notes.get('notes - src - words') ?? '';
  assert.match(
    words,
    /`count = \(text: string\): number`: Counts the words of a text\. `src\/words\/count\.ts:2`/,
  );
  assert.match(words, /## Used by\n\n- \[\[notes - src\|src\]\] in `main\.ts`/);
  assert.match(words, /## Tests\n\n- `tests\/count\.test\.ts`/);
  assert.match(words, /^---\ntitle: "src\/words"\ntags:\n {2}- "notes"\n/);
  assert.doesNotMatch([...notes.values()].join('\n'), /AKIA[A-Z]/);
  const readme = notes.get('notes - README') ?? '';
  assert.match(readme, /An app that counts words in texts\. `README\.md:3`/);
  assert.match(readme, /- command app: `src\/main\.ts` `package\.json:3`/);
  assert.match(readme, /- `src\/words\/leak\.ts` \(line 1\)/);
  assert.match(
    notes.get('notes - Architecture') ?? '',
    /```mermaid\nflowchart LR\n {2}m0\["src"\]\n {2}m1\["src\/words"\]\n {2}m0 --> m1\n```/,
  );
  assert.deepEqual(brokenLinks(notes), []);
  assert.deepEqual(checkCitations(repo, notes).wrong, []);
});

describe('the second run', () => {
  test('writes nothing, and after a change of one file only its note', async () => {
    const repo = scene.create(files);
    const request = { repo_path: repo, project_name: 'again' };
    await scene.run(request);
    const folder = join(scene.vault, 'again');
    const before = scene.notes('again');
    const written = statSync(join(folder, 'again - src.md')).mtimeMs;
    const second = resultOf(await scene.run(request));
    assert.deepEqual([second['created'], second['replaced'], second['removed']], [0, 0, 0]);
    assert.equal(statSync(join(folder, 'again - src.md')).mtimeMs, written);
    assert.deepEqual(scene.notes('again'), before);

    writeFiles(repo, {
      'src/words/count.ts': files['src/words/count.ts'].replace('split(" ")', 'split(/ +/)'),
    });
    git(repo, 'commit', '--quiet', '--all', '--message=second');
    const third = resultOf(await scene.run(request));
    assert.deepEqual(third['written'], ['again - src - words']);
    assert.match(
      scene.notes('again').get('again - src - words') ?? '',
      new RegExp(`commit: "${git(repo, 'rev-parse', 'HEAD')}"`),
    );
  });

  test('keeps a note that was edited by hand, and writes the new one beside it once', async () => {
    const repo = scene.create(files);
    const request = { repo_path: repo, project_name: 'edited' };
    await scene.run(request);
    const note = join(scene.vault, 'edited', 'edited - src.md');
    appendFileSync(note, '\nMy own remark.\n');
    const unchanged = resultOf(await scene.run(request));
    assert.deepEqual(unchanged['edited_by_hand'], [], 'its source did not change');
    appendFileSync(join(repo, 'src/main.ts'), '\nexport const more = 1;\n');
    git(repo, 'commit', '--quiet', '--all', '--message=second');
    const changed = resultOf(await scene.run(request));
    assert.deepEqual(changed['edited_by_hand'], ['edited - src.new']);
    assert.match(readFileSync(note, 'utf8'), /My own remark\.\n$/);
    assert.match(scene.notes('edited').get('edited - src.new') ?? '', /`more = 1`/);
    const again = resultOf(await scene.run(request));
    assert.deepEqual([again['edited_by_hand'], again['removed']], [[], 0]);
    assert.deepEqual(brokenLinks(scene.notes('edited')), []);
  });

  test('removes the note of a module that no longer exists, unless it was edited', async () => {
    const repo = scene.create({
      ...files,
      'old/a.ts': 'export const a = 1;\n',
      'kept/b.ts': 'export const b = 1;\n',
    });
    const request = { repo_path: repo, project_name: 'gone' };
    await scene.run(request);
    appendFileSync(join(scene.vault, 'gone', 'gone - kept.md'), 'mine\n');
    writeFileSync(join(scene.vault, 'gone', 'own.md'), 'a note of the user\n');
    git(repo, 'rm', '--quiet', '-r', 'old', 'kept');
    git(repo, 'commit', '--quiet', '--message=second');
    assert.equal(resultOf(await scene.run(request))['removed'], 1);
    const names = [...scene.notes('gone').keys()];
    assert.ok(
      !names.includes('gone - old') && names.includes('gone - kept') && names.includes('own'),
    );
  });
});

test('notes that people write or edit during a run are kept', async () => {
  let edit = () => {};
  await using scene = createDocumentationScene({
    models: {
      ...noModels,
      async chat() {
        edit();
        return '- It has a value [a/a.ts:1].';
      },
    },
  });
  const repo = scene.create({
    'a/a.ts': 'export const a = 1;\n',
    'b/b.ts': 'export const b = 1;\n',
    'gone/g.ts': 'export const g = 1;\n',
  });
  const request = { repo_path: repo, project_name: 'live' };
  await scene.run(request);
  appendFileSync(join(repo, 'a/a.ts'), '\nexport const more = 1;\n');
  appendFileSync(join(repo, 'b/b.ts'), '\nexport const more = 1;\n');
  writeFiles(repo, { 'c/c.ts': 'export const c = 1;\n' });
  git(repo, 'rm', '--quiet', '-r', 'gone');
  git(repo, 'add', '--all');
  git(repo, 'commit', '--quiet', '--message=second');
  const names = ['a', 'b', 'c', 'gone'].map(name => `live - ${name}`);
  edit = () => {
    edit = () => {};
    for (const name of names) appendFileSync(join(scene.vault, 'live', `${name}.md`), '\nMine.\n');
  };
  const result = resultOf(await scene.run({ ...request, model: 'm' }));
  const notes = scene.notes('live');
  for (const name of names) assert.match(notes.get(name) ?? '', /\nMine\.\n$/, name);
  assert.deepEqual(
    [result['edited_by_hand'], result['removed']],
    [['live - a.new', 'live - b.new', 'live - c.new'], 0],
  );
});

test('a dry run writes nothing, and reports what would be written', async () => {
  const repo = scene.create(files);
  const result = resultOf(await scene.run({ repo_path: repo, project_name: 'dry', dry_run: true }));
  assert.deepEqual([result['created'], scene.notes('dry').size], [6, 0]);
});

test('a request is stored until the end of its job is stored, and removed at the next start', async () => {
  await using scene = createDocumentationScene();
  const repo_path = scene.create({ 'a.ts': 'export const a = 1;\n' });
  const job = await scene.run({ repo_path, project_name: 'app', dry_run: true });
  assert.notEqual(await scene.store.find(job.id), undefined, 'a kill here leaves a job that ended');
  const next = scene.start();
  await next.jobs.start();
  await next.documentation.service.start(new AbortController().signal);
  assert.equal(next.jobs.get(job.id).state, 'done');
  assert.deepEqual(await scene.store.entries(), []);
});

test('a vault that is written under another name of its folder is busy', async () => {
  await using scene = createDocumentationScene();
  const { documentation, vault, home } = scene;
  const link = join(home, 'link');
  symlinkSync(vault, link);
  const repo_path = scene.create({ 'a.ts': 'export const a = 1;\n' });
  const begin = (place: string) =>
    documentation.begin(
      parseDocumentationRequest({ repo_path, project_name: 'app', vault: place }),
      caller,
    );
  const id = await begin(vault);
  for (const place of [`${vault}/`, link])
    assert.match(
      await failureOf(begin(place)),
      /HUB_DOCUMENTATIONS_FULL: .* documents app already/,
    );
  await scene.ended(id);
});

test('a run that takes too long ends with the reason', async () => {
  await using scene = createDocumentationScene({
    config: { maxMs: 360_000 / 500 },
    models: {
      ...noModels,
      defaultModel: async () => 'hangs',
      contextTokens: async () => 8_192,
      chat: async (_request, signal) => await unlessAborted(new Promise<never>(() => {}), signal),
    },
  });
  const repo_path = scene.create({ 'a.ts': 'export const a = 1;\n' });
  const job = await scene.run({ repo_path, project_name: 'slow' });
  assert.deepEqual(job.state === 'failed' && job.error, {
    code: 'HUB_REPOSITORY_LIMIT',
    message:
      'the documentation of slow took longer than documentation.max_hours (0.0002): begin it again, which keeps the notes that are written, or raise the limit',
  });
});

test('links and submodules are not followed, and nothing outside the repository is read', async () => {
  const repo = scene.create(files);
  writeFileSync(join(scene.home, 'outside.ts'), 'export const outside = 1;\n');
  git(repo, 'config', 'core.symlinks', 'true');
  const linked = join(repo, 'src', 'outside.ts');
  const { symlinkSync } = await import('node:fs');
  symlinkSync(join(scene.home, 'outside.ts'), linked);
  git(repo, 'add', '--all');
  git(repo, 'update-index', '--add', '--cacheinfo', `160000,${git(repo, 'rev-parse', 'HEAD')},sub`);
  git(repo, 'commit', '--quiet', '--message=links');
  await scene.run({ repo_path: repo, project_name: 'links' });
  const notes = [...scene.notes('links').values()].join('\n');
  assert.doesNotMatch(notes, /`outside/);
  assert.match(notes, /Symbolic links, which are not followed: 1 file/);
});

test('a folder with many documents is truncated in the README note', async () => {
  const pages = Array.from({ length: 25 }, (_, at) => [`log/${10 + at}.md`, `# Page ${at}\n`]);
  const repo = scene.create({ 'a.ts': '', 'docs/use.md': '# Use\n', ...Object.fromEntries(pages) });
  await scene.run({ repo_path: repo, project_name: 'pages' });
  const readme = scene.notes('pages').get('pages - README') ?? '';
  assert.match(
    readme,
    /- Use `docs\/use\.md:1`\n(?:- Page \d `log\/1\d\.md:1`\n){10}- and 15 others in `log`\n/,
  );
});

test.each([
  ['files', { maxFiles: 3 }],
  ['bytes', { maxBytes: 260 }],
])('files beyond the limit of %s are left out, and listed with a remedy', async (_, config) => {
  await using small = createDocumentationScene({ config });
  const repo = small.create({
    'a.ts': `export const a = 1; // ${'a'.repeat(50)}\n`,
    'b.ts': `export const b = 1; // ${'b'.repeat(50)}\n`,
    'c.ts': `export const c = 1; // ${'c'.repeat(50)}\n`,
    'd/d.ts': `export const d = 1; // ${'d'.repeat(50)}\n`,
    'e.txt': 'x'.repeat(1_000),
  });
  const result = resultOf(await small.run({ repo_path: repo, project_name: 'small' }));
  assert.deepEqual([result['files'], result['modules'], result['excluded_files']], [3, 1, 1]);
  const readme = small.notes('small').get('small - README') ?? '';
  assert.match(
    readme,
    /by the limits in the config, documentation\.max_files and documentation\.max_megabytes: 1 file in `d`\./,
  );
});

describe('a request is refused:', () => {
  test('for a vault that Obsidian never opened, unless forced', async () => {
    const repo = scene.create(files);
    writeFiles(scene.home, { 'plain/a.md': 'x' });
    const vault = join(scene.home, 'plain');
    const job = await scene.run({ repo_path: repo, project_name: 'forced', vault });
    assert.match(
      job.state === 'failed' ? job.error.message : '',
      /has no folder \.obsidian.*"force": true/,
    );
    resultOf(await scene.run({ repo_path: repo, project_name: 'forced', vault, force: true }));
    mkdirSync(join(vault, '.obsidian'));
    resultOf(await scene.run({ repo_path: repo, project_name: 'forced', vault }));
  });

  test('for a project name of another repository', async () => {
    const [one, other] = [scene.create(files), scene.create(files)];
    await scene.run({ repo_path: one, project_name: 'same' });
    const job = await scene.run({ repo_path: other, project_name: 'same' });
    assert.match(
      job.state === 'failed' ? `${job.error.code} ${job.error.message}` : '',
      /HUB_PROJECT_NAME_TAKEN.*documents .*Choose another/,
    );
  });

  test('for repositories and vaults outside the configured folders, unless the owner asks', async () => {
    const repo = scene.create(files);
    scene.allow([repo]);
    try {
      const request = { repo_path: repo, project_name: 'p' };
      assert.match(await failureOf(scene.run(request)), /HUB_PATH_REFUSED/);
      assert.match(
        await failureOf(scene.run({ ...request, repo_path: scene.vault })),
        /HUB_PATH_REFUSED/,
      );
      const owner = { ...caller, grants: { administer: true } };
      resultOf(await scene.run(request, owner));
    } finally {
      scene.allow([scene.home]);
    }
  });

  test.each([
    [{ project_name: 'a/b' }, /project_name: "a\/b" has one of the characters/],
    [{ project_name: '..' }, /project_name/],
    [{ project_name: 'p', extra: 1 }, /extra: is not a member; members are repo_path/],
    [{ project_name: 'p', vault: 'relative' }, /vault: "relative" is not an absolute path/],
    [{ project_name: 'p', vault: 'obsidian' }, /the config has no "documentation\.obsidian"/],
  ])('%j', async (body, message) => {
    const repo = scene.home;
    assert.match(await failureOf(scene.run({ repo_path: repo, ...body })), message);
  });
});
