import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { BuildSource } from '#runtimes';
import {
  baseOfTemplate,
  projectImageOf,
  systemImageOf,
} from '../../../../hub/runtimes/docker/image/derived-images.ts';

const template = Buffer.from('ARG BASE=node:24\nFROM ${BASE}\n');
const build: BuildSource = { kind: 'npm', folder: '/home/me/My Server', digest: 'abc' };

test('the image of a folder is named after it, and changes with its files and its base', () => {
  const { tag, labels } = projectImageOf(build, template);
  assert.match(tag, /^agenthub\/build-my-server:[0-9a-f]{12}$/);
  assert.equal(labels['io.agenthub.base'], 'node-project');
  assert.equal(labels['io.agenthub.package'], 'My Server');
  assert.equal(projectImageOf({ ...build, folder: '/other/my-server' }, template).tag, tag);
  const others = [
    projectImageOf({ ...build, digest: 'abd' }, template),
    projectImageOf({ ...build, kind: 'python' }, template),
    projectImageOf(build, Buffer.from('FROM other')),
    projectImageOf(build, template, 'agenthub/system-node:1'),
  ];
  assert.equal(new Set([tag, ...others.map(other => other.tag)]).size, 5);
});

test('an image with system packages changes with them and its base, not with their order', () => {
  const { tag, args, base } = systemImageOf({ name: 'node:24' }, ['jq', 'git'], template);
  assert.match(tag, /^agenthub\/system-node:[0-9a-f]{12}$/);
  assert.deepEqual([base, args], ['node:24', { PACKAGES: 'git jq' }]);
  assert.equal(systemImageOf({ name: 'node:24' }, ['git', 'jq'], template).tag, tag);
  const others = [
    systemImageOf({ name: 'node:24' }, ['git'], template),
    systemImageOf({ name: 'node:22' }, ['jq', 'git'], template),
    systemImageOf({ name: 'node:24', id: 'sha256:1' }, ['jq', 'git'], template),
    systemImageOf({ name: 'node:24' }, ['jq', 'git'], Buffer.from('FROM other')),
  ];
  assert.equal(new Set([tag, ...others.map(other => other.tag)]).size, 5);
});

test('an image with a mutable tag is used by its id, and keeps its user', () => {
  const base = { name: 'ghcr.io/me/Server:latest', id: 'sha256:1', user: 'me' };
  const { tag, args, base: from } = systemImageOf(base, ['git'], template);
  assert.match(tag, /^agenthub\/system-server:/);
  assert.equal(from, 'sha256:1');
  assert.deepEqual(args, { PACKAGES: 'git', BASE_USER: 'me' });
});

test('the base of a template is the default of its argument', () => {
  assert.equal(baseOfTemplate(template), 'node:24');
  assert.equal(baseOfTemplate(Buffer.from('FROM x')), undefined);
});
