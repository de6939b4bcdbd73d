import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { containerName, rebuildContainer } from '../../hub/broker/container.ts';
import { containerBody, owner } from './bodies.ts';

const rebuild = (body: unknown) => rebuildContainer(JSON.stringify(body), owner);
const bind = { Type: 'bind', Source: '/srv/data', Target: '/data', ReadOnly: true };
const volume = { Type: 'volume', Source: `${owner.hubName}-notes`, Target: '/data' };

test('the container that the hub asks for passes unchanged', () => {
  const body = containerBody({ Mounts: [bind] });
  assert.deepEqual(rebuild(body), body);
});

test('the settings that harden a container are present, whether the hub sent them or not', () => {
  const { Memory, NanoCpus, PidsLimit } = containerBody().HostConfig;
  const { Labels, ...body } = containerBody();
  const rebuilt = rebuild({ ...body, HostConfig: { Memory, NanoCpus, PidsLimit } });
  assert.deepEqual(rebuilt.Labels, {
    'io.agenthub.hub': Labels['io.agenthub.hub'],
    'io.agenthub.managed': 'true',
  });
  assert.deepEqual(rebuilt.HostConfig, {
    AutoRemove: false,
    RestartPolicy: { Name: 'no' },
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    ReadonlyRootfs: true,
    IpcMode: 'private',
    CgroupnsMode: 'private',
    Memory,
    MemorySwap: Memory,
    NanoCpus,
    PidsLimit,
    NetworkMode: 'none',
    LogConfig: { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
  });
});

test('a volume that the engine makes carries the labels of the hub', () => {
  const mount = rebuild(containerBody({ Mounts: [volume] })).HostConfig.Mounts?.[0];
  const Labels = {
    'io.agenthub.hub': owner.hubId,
    'io.agenthub.managed': 'true',
    'io.agenthub.name': owner.hubName,
  };
  assert.deepEqual(mount, { ...volume, VolumeOptions: { Labels } });
});

test('a user without a group gets one, as the engine would use that of root', () => {
  assert.equal(rebuild(containerBody({}, { User: '1000' })).User, '1000:1000');
});

describe('a container that asks for a part of the host is refused, and the message names it:', () => {
  test.each<[string, object, RegExp]>([
    ['privileges', { Privileged: true }, /HostConfig\.Privileged/],
    ['privileges in another case', { privileged: true }, /key "HostConfig\.privileged"/],
    ['privileges in capitals', { PRIVILEGED: true }, /key "HostConfig\.PRIVILEGED"/],
    ['capabilities', { CapAdd: ['SYS_ADMIN'] }, /key "HostConfig\.CapAdd"/],
    ['fewer dropped capabilities', { CapDrop: ['NET_RAW'] }, /HostConfig\.CapDrop/],
    ['all and one dropped, so that one is kept', { CapDrop: ['ALL', 'X'] }, /HostConfig\.CapDrop/],
    ['devices', { Devices: [{ PathOnHost: '/dev/sda' }] }, /key "HostConfig\.Devices"/],
    ['device requests', { DeviceRequests: [] }, /key "HostConfig\.DeviceRequests"/],
    ['device rules', { DeviceCgroupRules: ['a *:* rwm'] }, /DeviceCgroupRules/],
    ['the network of the host', { NetworkMode: 'host' }, /HostConfig\.NetworkMode/],
    ['the default bridge', { NetworkMode: 'bridge' }, /HostConfig\.NetworkMode/],
    ['the network of a container', { NetworkMode: 'container:hub' }, /HostConfig\.NetworkMode/],
    ['the network of compose', { NetworkMode: 'agenthub_default' }, /HostConfig\.NetworkMode/],
    ['processes of the host', { PidMode: 'host' }, /key "HostConfig\.PidMode"/],
    ['shared memory of the host', { IpcMode: 'host' }, /HostConfig\.IpcMode/],
    ['shared memory of a container', { IpcMode: 'container:hub' }, /HostConfig\.IpcMode/],
    ['the host name of the host', { UTSMode: 'host' }, /key "HostConfig\.UTSMode"/],
    ['the users of the host', { UsernsMode: 'host' }, /key "HostConfig\.UsernsMode"/],
    ['the control groups of the host', { CgroupnsMode: 'host' }, /HostConfig\.CgroupnsMode/],
    ['a control group of its own choice', { CgroupParent: '/' }, /key "HostConfig\.CgroupParent"/],
    ['no seccomp', { SecurityOpt: ['seccomp=unconfined'] }, /HostConfig\.SecurityOpt/],
    ['new privileges', { SecurityOpt: ['no-new-privileges:false'] }, /HostConfig\.SecurityOpt/],
    ['a writable root', { ReadonlyRootfs: false }, /HostConfig\.ReadonlyRootfs/],
    ['binds in the old form', { Binds: ['/:/host'] }, /key "HostConfig\.Binds"/],
    ['volumes of a container', { VolumesFrom: ['hub'] }, /key "HostConfig\.VolumesFrom"/],
    ['links', { Links: ['redis'] }, /key "HostConfig\.Links"/],
    ['system controls', { Sysctls: {} }, /key "HostConfig\.Sysctls"/],
    ['another runtime', { Runtime: 'runc' }, /key "HostConfig\.Runtime"/],
    ['ports', { PortBindings: {} }, /key "HostConfig\.PortBindings"/],
    ['other names for hosts', { ExtraHosts: ['a:127.0.0.1'] }, /HostConfig\.ExtraHosts/],
    ['paths that are not masked', { MaskedPaths: [] }, /key "HostConfig\.MaskedPaths"/],
    ['writable kernel paths', { ReadonlyPaths: [] }, /key "HostConfig\.ReadonlyPaths"/],
    [
      'restarts by the engine',
      { RestartPolicy: { Name: 'always' } },
      /HostConfig\.RestartPolicy\.Name/,
    ],
    ['memory without a bound', { Memory: 0 }, /HostConfig\.Memory/],
    ['memory as a text', { Memory: '64m' }, /HostConfig\.Memory/],
    ['swap without a bound', { MemorySwap: -1 }, /HostConfig\.MemorySwap/],
    ['processors without a bound', { NanoCpus: 0 }, /HostConfig\.NanoCpus/],
    ['processes without a bound', { PidsLimit: -1 }, /HostConfig\.PidsLimit/],
    ['logs sent elsewhere', { LogConfig: { Type: 'syslog', Config: {} } }, /HostConfig\.LogConfig/],
    ['logs without a bound', { LogConfig: { Type: 'local', Config: {} } }, /HostConfig\.LogConfig/],
    ['a tmpfs for programs', { Tmpfs: { '/tmp': 'exec' } }, /HostConfig\.Tmpfs/],
    ['a tmpfs over the kernel', { Tmpfs: { '/proc/x': 'rw' } }, /HostConfig\.Tmpfs/],
  ])('%s', (_, host, message) => {
    assert.throws(() => rebuild(containerBody(host)), {
      code: 'HUB_BROKER_REFUSED',
      message,
    });
  });
});

describe('a mount is refused, and the message names what it has:', () => {
  test.each<[string, object, RegExp]>([
    ['a path with ..', { ...bind, Source: '/srv/data/../..' }, /Mounts\.0\.Source/],
    ['a path with an empty part', { ...bind, Source: '//srv' }, /Mounts\.0\.Source/],
    ['a relative path', { ...bind, Source: 'srv' }, /Mounts\.0\.Source/],
    ['the root itself', { ...bind, Source: '/' }, /Mounts\.0\.Source/],
    ['a target in /proc', { ...bind, Target: '/proc/sys' }, /Mounts\.0\.Target/],
    ['propagation', { ...bind, BindOptions: { Propagation: 'shared' } }, /BindOptions/],
    ['another case', { ...bind, source: '/' }, /key "HostConfig\.Mounts\.0\.source"/],
    [
      "a volume that is not the hub's",
      { ...volume, Source: 'agenthub_broker' },
      /Mounts\.0\.Source/,
    ],
    [
      'a volume that is a folder',
      {
        ...volume,
        VolumeOptions: { DriverConfig: { Name: 'local', Options: { o: 'bind', device: '/' } } },
      },
      /key "HostConfig\.Mounts\.0\.VolumeOptions\.DriverConfig"/,
    ],
    ['a kind of its own', { ...bind, Type: 'npipe' }, /Mounts\.0\.Type/],
    ['an image', { ...bind, Type: 'image' }, /Mounts\.0\.Type/],
  ])('%s', (_, mount, message) => {
    assert.throws(() => rebuild(containerBody({ Mounts: [mount] })), {
      code: 'HUB_BROKER_REFUSED',
      message,
    });
  });
});

describe('a container is refused, and the message names what it has:', () => {
  test.each<[string, object, RegExp]>([
    ['the user root', { User: 'root' }, /"User" of a container with the value "root"/],
    ['the user root in a group', { User: 'root:users' }, /"User"/],
    ['the user 0', { User: '0' }, /"User"/],
    ['the user 0 in a group', { User: '0:1000' }, /"User"/],
    ['the user 0 with more digits', { User: '00' }, /"User"/],
    ['a user by name, which the image may map to root', { User: 'toor' }, /"User".*"toor"/],
    ['a group by name', { User: '1000:wheel' }, /"User"/],
    ['the group root', { User: '1000:root' }, /"User"/],
    ['the group 0', { User: '1000:0' }, /"User".*a user and a group other than root/],
    ['the group 0 with more digits', { User: '1000:00' }, /"User"/],
    ['an empty group', { User: '1000:' }, /"User"/],
    ['no user', { User: '' }, /"User"/],
    ['no user at all', { User: undefined }, /"User"/],
    ['a host part in another case', { hostconfig: { Privileged: true } }, /key "hostconfig"/],
    ['networks beside the one', { NetworkingConfig: {} }, /key "NetworkingConfig"/],
    ['a terminal', { Tty: true }, /"Tty"/],
    ['a health check', { Healthcheck: { Test: ['CMD', 'id'] } }, /"Healthcheck/],
    ["another hub's label", { Labels: { 'io.agenthub.hub': 'other' } }, /Labels.*"other"/],
    ['the host name of another program', { Hostname: 'redis' }, /Hostname/],
    ['a label for other tools', { Labels: { 'traefik.enable': 'true' } }, /Labels\.traefik/],
    [
      'the name of a compose service',
      { Labels: { 'com.docker.compose.service': 'hub' } },
      /Labels.*com\.docker\.compose\.service/,
    ],
  ])('%s', (_, rest, message) => {
    assert.throws(() => rebuild(containerBody({}, rest)), { code: 'HUB_BROKER_REFUSED', message });
  });

  test('the key __proto__', () => {
    const body = JSON.stringify(containerBody()).replace('{', '{"__proto__":{"Privileged":true},');
    assert.throws(() => rebuildContainer(body, owner), /__proto__/);
  });

  test('a body that is not JSON', () => {
    assert.throws(() => rebuildContainer('{', owner), /that is not JSON/);
    assert.throws(() => rebuildContainer('', owner), /that is not JSON/);
    assert.throws(() => rebuildContainer('[]', owner), { code: 'HUB_BROKER_REFUSED' });
  });
});

test('of a key that occurs twice, the engine receives the one that was checked', () => {
  const bad = JSON.stringify({ Privileged: true, Binds: ['/:/host'] });
  const good = JSON.stringify(containerBody());
  const rebuilt = rebuildContainer(good.replace('{', `{"HostConfig":${bad},`), owner);
  assert.deepEqual(rebuilt, containerBody());
  assert.throws(() => rebuildContainer(good.replace(/}$/, `,"HostConfig":${bad}}`), owner));
});

test('a refusal does not repeat what may be secret', () => {
  const secret = containerBody({}, { Env: [{ TOKEN: 'secret' }] });
  assert.throws(
    () => rebuild(secret),
    (error: Error) => error.message.includes('Env') && !error.message.includes('secret'),
  );
});

test('a container is named after its hub', () => {
  assert.equal(containerName(`${owner.hubName}-memory`, owner), true);
  for (const name of [undefined, '', 'memory', `${owner.hubName}-a/b`, `${owner.hubName}`]) {
    assert.equal(containerName(name, owner), false, name);
  }
});
