import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'vitest';
import { HubError, type JsonObject } from '#core';
import { addRequestOf } from '../../hub/cli/add-request.ts';
import { inRecipe, recipeNames, requestOfRecipe } from '../../hub/cli/recipes.ts';
import { createNeeds } from './run.ts';

const examples = join(import.meta.dirname, '../../examples');

const needs = createNeeds({
  async readRecipe(name) {
    const recipe: { servers: Record<string, JsonObject> } = JSON.parse(
      readFileSync(join(examples, `${name}.json`), 'utf8'),
    );
    return recipe.servers[name] ?? assert.fail(`${name}.json has no server of this name`);
  },
});
const requestOf = async (name: string, values: object = {}) =>
  await requestOfRecipe(name, addRequestOf({ ...values }), { needs });

test('each example with a file of its own is a recipe', () => {
  const files = globSync('*.json', { cwd: examples }).map(file => basename(file, '.json'));
  assert.deepEqual(files.toSorted(), recipeNames);
});

test('each local recipe names a package or an image', async () => {
  const local = recipeNames.filter(name => !name.startsWith('remote-'));
  const packages = await Promise.all(local.map(async name => (await requestOf(name)).package));
  assert.deepEqual(packages, [
    'uvx:mcp-server-git==2026.10.19',
    'docker:ghcr.io/github/github-mcp-server:v1.0.0',
    '@playwright/mcp@0.0.83',
    '@bytebase/dbhub@1.4.0',
    'slack-mcp-server@1.3.0',
    'uvx:mcp-server-sqlite==2025.4.25',
  ]);
});

test('a remote server needs its address', async () => {
  const message =
    '--recipe: "remote-oauth" needs the address of your server: agenthub add https://host/mcp --recipe remote-oauth';
  for (const values of [{}, { package: 'uvx:mcp-server-time' }])
    await assert.rejects(requestOf('remote-oauth', values), { code: 'HUB_USAGE', message });
});

test('a recipe is added with all its settings', async () => {
  const { rest, ...request } = await requestOf('remote-token', { package: 'https://host/mcp' });
  assert.deepEqual(request, {
    package: 'https://host/mcp',
    name: 'remote-token',
    args: undefined,
    env: {},
    headers: { Authorization: 'Bearer ${secret:REMOTE_TOKEN}' },
  });
  assert.deepEqual(Object.keys(rest), ['description']);
  const sqlite = await requestOf('sqlite');
  assert.deepEqual(sqlite.args, ['--db-path', '/data/sqlite.db']);
  assert.deepEqual(sqlite.rest['volumes'], { sqlite: '/data' });
});

test('options replace settings of the recipe, and are added to lists', async () => {
  const request = await requestOf('git', {
    name: 'history',
    env: ['GIT_PAGER=cat'],
    mount: ['~/project:/repository:rw', '~/notes:/notes'],
    'system-package': ['git', 'less'],
    with: ['httpx'],
    network: 'bridge',
    arg: ['--verbose'],
  });
  assert.equal(request.name, 'history');
  assert.deepEqual(request.args, ['--repository', '/repository', '--verbose']);
  assert.equal(request.env['GIT_PAGER'], 'cat');
  assert.equal(request.env['GIT_CONFIG_COUNT'], '1');
  assert.deepEqual(request.rest['mounts'], ['~/project:/repository:rw', '~/notes:/notes']);
  assert.deepEqual(request.rest['system_packages'], ['git', 'less']);
  assert.deepEqual(request.rest['with'], ['httpx']);
  const { rest } = await requestOf('sqlite', { with: ['httpx'] });
  assert.deepEqual(rest['with'], ['mcp<2', 'httpx']);
  assert.equal(request.rest['network'], 'bridge');
  assert.match(JSON.stringify(request.rest['description']), /History/);
});

test('a recipe whose folder is missing names the option for it', async () => {
  const unset = (name: string) =>
    new HubError(
      'HUB_CONFIG_INVALID',
      `servers.git.mounts[0]: the variable ${name} is not set. Set it in the environment`,
    );
  const request = await requestOf('git');
  const error = unset('AGENTHUB_REPOSITORY');
  const named = inRecipe(error, request, 'git');
  assert.ok(named instanceof HubError);
  assert.deepEqual(
    [named.code, named.message],
    ['HUB_USAGE', '--recipe: "git" needs a folder of yours: add --mount FOLDER:/repository'],
  );
  const other = unset('OTHER');
  assert.equal(inRecipe(other, request, 'git'), other);
  assert.equal(inRecipe(error, request, undefined), error);
  const given = await requestOf('git', { mount: ['~/project:/repository'] });
  assert.equal(inRecipe(error, given, 'git'), error);
});
