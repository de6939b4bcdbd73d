import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { connect, sdkVersions } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub } from '#helpers/hub-process';
import { removeVolumes } from '#helpers/volumes';

const hubName = `real-${process.pid}`;
const names = ['everything', 'files', 'memory', 'time'] as const;

/** Returns the output of `docker inspect` for a server's container. */
function inspect(server: string) {
  const text = execFileSync('docker', ['inspect', `${hubName}-${server}`], { encoding: 'utf8' });
  return JSON.parse(text)[0];
}

describeWithEngine('published servers in containers', () => {
  let hub: HubProcess;
  let folder: string;

  const config = () => ({
    servers: {
      everything: {
        package: '@modelcontextprotocol/server-everything@2026.8.31',
        auto_start: true,
      },
      files: {
        package: '@modelcontextprotocol/server-filesystem@2026.8.31',
        args: ['/read', '/write'],
        mounts: [
          { source: join(folder, 'read'), target: '/read' },
          { source: join(folder, 'write'), target: '/write', read_only: false },
        ],
        auto_start: true,
      },
      memory: { package: '@modelcontextprotocol/server-memory@2026.8.31', auto_start: true },
      time: { command: 'uvx', args: ['mcp-server-time@2026.10.19'], auto_start: true },
    },
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agenthub-files-'));
    for (const name of ['read', 'write']) {
      mkdirSync(join(folder, name));
      // The server runs as its own user, which owns no file of this machine.
      chmodSync(join(folder, name), 0o777);
    }
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'read', 'note.txt'), 'written by the host');
    hub = await startHub({ config: config(), env: { HUB_NAME: hubName } });
    // Images are built at the first start, and are used again later.
    const found = await settled(hub, 280_000);
    assert.deepEqual(found, Object.fromEntries(names.map(name => [name, 'running'])), hub.log());
  }, 300_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
    await removeVolumes(hubName);
    const left = execFileSync('docker', ['ps', '-aq', '--filter', `name=${hubName}-`]);
    assert.equal(left.toString(), '', 'the hub leaves no container behind');
  });

  for (const version of sdkVersions) {
    test(`an SDK ${version} client calls all of them through /mcp, under their public names`, async () => {
      await using client = await connect(`${hub.url}/mcp`, version);
      const tools = await client.toolNames();
      for (const tool of [
        'everything_echo',
        'files_read_text_file',
        'memory_read_graph',
        'time_convert_time',
      ])
        assert.ok(tools.includes(tool), `${tool} is listed: ${tools.join(' ')}`);
      assert.match(await client.call('everything_echo', { message: 'hello' }), /hello/);
      assert.match(
        await client.call('files_read_text_file', { path: '/read/note.txt' }),
        /written by the host/,
      );
      assert.match(
        await client.call('time_convert_time', {
          source_timezone: 'Europe/Berlin',
          time: '12:00',
          target_timezone: 'Asia/Tokyo',
        }),
        /Asia\/Tokyo/,
      );
    });

    test(`an SDK ${version} client calls one through /mcp/{server}, under its own names`, async () => {
      await using client = await connect(`${hub.url}/mcp/everything`, version);
      assert.ok((await client.toolNames()).includes('echo'));
      assert.match(await client.call('echo', { message: 'alone' }), /alone/);
    });
  }

  test('a mounted folder is read-only unless its entry says otherwise', async () => {
    await using client = await connect(`${hub.url}/mcp/files`);
    const refused = await client.call('write_file', { path: '/read/new.txt', content: 'x' });
    assert.match(refused, /^error: .*(EROFS|read-only)/s);
    await client.call('write_file', { path: '/write/new.txt', content: 'by the server' });
    assert.equal(readFileSync(join(folder, 'write', 'new.txt'), 'utf8'), 'by the server');
  });

  test('what server-memory knows survives a restart, on its volume', async () => {
    await using client = await connect(`${hub.url}/mcp/memory`);
    await client.call('create_entities', {
      entities: [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }],
    });
    const before = inspect('memory').Id;
    const restarted = await fetch(`${hub.url}/servers/memory/restart`, {
      method: 'POST',
      headers: hub.ownerHeaders,
    });
    assert.equal(restarted.status, 200);
    assert.notEqual(inspect('memory').Id, before);
    assert.match(await client.call('read_graph'), /first program/);
  });

  for (const server of names) {
    test(`docker inspect shows that ${server} is sandboxed`, () => {
      const { HostConfig: host, Config: own } = inspect(server);
      assert.deepEqual(host.CapDrop, ['ALL']);
      assert.deepEqual(host.CapAdd ?? [], []);
      assert.deepEqual(host.SecurityOpt, ['no-new-privileges']);
      assert.equal(host.ReadonlyRootfs, true);
      assert.equal(host.Privileged, false);
      assert.match(own.User, /^(?!0(:|$)|root)./);
      assert.equal(host.Memory, 512 * 1024 * 1024);
      assert.equal(host.MemorySwap, host.Memory);
      assert.equal(host.NanoCpus, 1e9);
      assert.equal(host.PidsLimit, 256);
      assert.equal(host.NetworkMode, 'none');
      assert.equal(host.LogConfig.Type, 'local');
      assert.deepEqual(host.LogConfig.Config, { 'max-size': '1m', 'max-file': '2' });
      assert.equal(host.RestartPolicy.Name, 'no');
      assert.ok(!JSON.stringify(own.Labels).includes('MEMORY_FILE_PATH'));
    });
  }

  test('/servers shows what each runs as and what it uses', async () => {
    const shown = JSON.stringify(await getJson(hub, '/servers/memory'));
    assert.match(shown, /"state":"running"/);
    assert.match(shown, new RegExp(`"containerName":"${hubName}-memory"`));
    assert.match(shown, /"pids_limit":256/);
  });
});
