import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { startHub } from '#helpers/hub';
import { owner, visitor } from './scene.ts';

const installs = {
  review: async () => [],
  trial: async () => assert.fail('no trial was asked for'),
  install: () => Promise.reject(new HubError('HUB_PACKAGE_UNKNOWN', 'no')),
  remove: async (name: string) => ({ name, removed: [], left: [] }),
};

test('the page of installs lists all install jobs, with state and step', async () => {
  await using hub = await startHub([], { installs });
  const begin = (title: string) =>
    hub.jobs.begin({ kind: 'install', title, principal: 'owner', cancel: () => {} });
  begin('Install one').done({ name: 'one' });
  begin('Install two').failed(new HubError('HUB_CALL_CANCELLED', 'it was cancelled'));
  begin('Install three').failed(new HubError('HUB_SHUTTING_DOWN', 'the hub stopped while it ran'));
  const four = begin('Install <four>');
  four.report({ step: 'build', text: 'four is installed' });
  const { text } = await owner(hub).get('/dashboard/install');
  assert.match(
    text,
    /Install &lt;four&gt;[^]*running[^]*four is installed[^]*Install three[^]*interrupted[^]*Install two[^]*cancelled[^]*Install one[^]*installed/,
  );
});

test('the page of jobs lists all kinds; only the owner may open or cancel one', async () => {
  await using hub = await startHub([]);
  const cancelled: string[] = [];
  const job = hub.jobs.begin({
    kind: 'index',
    title: 'Index the notes',
    principal: 'owner',
    cancel: reason => {
      cancelled.push(reason.code);
      job.failed(reason);
    },
  });
  job.report({ step: 'read', text: '3 of 10 files' });
  for (const path of ['/dashboard/jobs', '/dashboard/jobs-partial']) {
    const { text } = await owner(hub).get(path);
    assert.match(text, /Index the notes[^]*running[^]*3 of 10 files[^]*Cancel/);
    const seen = await visitor(hub).get(path);
    assert.equal(seen.status, 200);
    assert.match(seen.text, /Index the notes[^]*running[^]*3 of 10 files/);
    assert.doesNotMatch(seen.text, /Cancel|dashboard\/install\/[^"]/);
  }
  await owner(hub).post(`/dashboard/actions/cancel-install/${job.id}`);
  assert.deepEqual(cancelled, ['HUB_CALL_CANCELLED']);
  assert.match((await owner(hub).get('/dashboard/jobs')).text, /Index the notes[^]*cancelled/);
});

test('only a failed install can be tried again on its page', async () => {
  await using hub = await startHub([], { installs });
  for (const [kind, isTried] of [
    ['install', true],
    ['documentation', false],
  ] as const) {
    const job = hub.jobs.begin({ kind, title: 'One', principal: 'owner', cancel: () => {} });
    job.failed(new HubError('HUB_CALL_CANCELLED', 'it was cancelled'));
    const { text } = await owner(hub).get(`/dashboard/install/${job.id}`);
    assert.match(text, /it was cancelled/);
    assert.equal(text.includes('Try again'), isTried, kind);
  }
});

test('a job of an earlier run shows why it ended, without its steps', async () => {
  await using hub = await startHub([], { installs });
  const job = hub.jobs.begin({
    kind: 'install',
    title: 'Install one',
    principal: 'owner',
    cancel: () => {},
  });
  job.failed(new HubError('HUB_SHUTTING_DOWN', 'the hub stopped while it ran. Begin it again'));
  const { status, text } = await owner(hub).get(`/dashboard/install/${job.id}`);
  assert.equal(status, 200);
  assert.match(text, /<h1>Install one<\/h1>/);
  assert.match(text, /the hub stopped while it ran\. Begin it again/);
  assert.match(text, /The steps were not stored\./);
});

test('a finished job of another kind is shown as done, without a link to a server', async () => {
  await using hub = await startHub([], { installs });
  const job = hub.jobs.begin({
    kind: 'index',
    title: 'Index the notes',
    principal: 'owner',
    cancel: () => {},
  });
  job.done({ name: 'notes' });
  const { text } = await owner(hub).get(`/dashboard/install/${job.id}`);
  assert.match(text, /Done\./);
  assert.doesNotMatch(text, /Installed as/);
});
