import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  forwarderName,
  rebuildConnection,
  rebuildDisconnection,
  rebuildForwarder,
  rebuildNetwork,
} from '../../hub/broker/network.ts';
import { bodyOf } from '../../hub/runtimes/docker/egress/container.ts';
import { owner } from './bodies.ts';

describe('a network of the forwarder or a build', () => {
  const network = { Name: forwarderName(owner), Driver: 'bridge', Labels: {} };

  test('is a bridge that carries the label of the hub', () => {
    for (const Name of [network.Name, `${owner.hubName}-.build-0123456789ab`])
      assert.deepEqual(rebuildNetwork(JSON.stringify({ ...network, Name }), owner), {
        ...network,
        Name,
        Labels: { 'io.agenthub.hub': owner.hubId, 'io.agenthub.managed': 'true' },
      });
  });

  test.each<[string, object]>([
    ['the host driver', { Driver: 'host' }],
    ['a driver of macvlan', { Driver: 'macvlan' }],
    ['options', { Options: { parent: 'eth0' } }],
    ['addresses', { IPAM: {} }],
    ['the name of a server', { Name: `${owner.hubName}-memory` }],
    ["another hub's name", { Name: 'other-.egress' }],
    ["another hub's label", { Labels: { 'io.agenthub.hub': 'other' } }],
    ['a key in another case', { driver: 'host' }],
  ])('is refused with %s', (_, change) => {
    assert.throws(() => rebuildNetwork(JSON.stringify({ ...network, ...change }), owner), {
      code: 'HUB_BROKER_REFUSED',
    });
  });
});

const refused = { code: 'HUB_BROKER_REFUSED' };

describe('a network of a server', () => {
  const network = {
    Name: `${owner.hubName}-memory`,
    Driver: 'bridge',
    Labels: { 'io.agenthub.hub': owner.hubId, 'io.agenthub.managed': 'true' },
    Internal: true,
    EnableIPv6: false,
    IPAM: { Config: [{ Subnet: '10.213.7.8/30', IPRange: '10.213.7.10/32' }] },
    Options: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
  };

  test('passes unchanged', () => {
    assert.deepEqual(rebuildNetwork(JSON.stringify(network), owner), network);
  });

  test.each<[string, boolean]>([
    ['agent-host-net-writer', true],
    ['agent-host-net-../writer', false],
    ['agent-host-net-Writer_1', false],
    ['other-net-writer', false],
  ])('may be named as that of an agent: %s', (Name, isAdmitted) => {
    const given = JSON.stringify({ ...network, Name });
    const hub = { ...owner, agentNetwork: 'agent-host-net' };
    if (isAdmitted) assert.deepEqual(rebuildNetwork(given, hub), { ...network, Name });
    else assert.throws(() => rebuildNetwork(given, hub), { code: 'HUB_BROKER_REFUSED' });
  });

  test.each<[string, object]>([
    ['that is not internal', { Internal: false }],
    ['with the gateway of the machine', { Options: {} }],
    [
      'with another mode of its gateway',
      { Options: { 'com.docker.network.bridge.gateway_mode_ipv4': 'nat' } },
    ],
    ['with IPv6', { EnableIPv6: true }],
    [
      'outside of the pool',
      { IPAM: { Config: [{ Subnet: '10.0.0.0/30', IPRange: '10.0.0.2/32' }] } },
    ],
    [
      'with a wide subnet',
      { IPAM: { Config: [{ Subnet: '10.213.0.0/16', IPRange: '10.213.0.2/32' }] } },
    ],
    [
      'with a gateway',
      { IPAM: { Config: [{ ...network.IPAM.Config[0], Gateway: '10.213.7.9' }] } },
    ],
  ])('is refused %s', (_, change) => {
    assert.throws(() => rebuildNetwork(JSON.stringify({ ...network, ...change }), owner), refused);
  });
});

describe('the forwarder', () => {
  const body = bodyOf(owner, 'agenthub/egress:0123456789ab');
  const rebuild = (change: object, host: object = {}) =>
    rebuildForwarder(
      JSON.stringify({ ...body, ...change, HostConfig: { ...body.HostConfig, ...host } }),
      owner,
    );

  test('is created as the driver writes it', () => {
    assert.deepEqual(rebuild({}), body);
  });

  test.each<[string, object, object?]>([
    ['another image', { Image: 'node:24' }],
    ['a command', { Cmd: ['sh'] }],
    ['an entrypoint', { Entrypoint: ['sh'] }],
    ['a variable', { Env: ['NODE_OPTIONS=--inspect'] }],
    ['another user', { User: '1000:1000' }],
    ['a mount', {}, { Mounts: [] }],
    ['more privileges', {}, { Privileged: true }],
    ['a capability', {}, { CapAdd: ['NET_ADMIN'] }],
    ['routes between networks', {}, { Sysctls: { 'net.ipv4.ip_forward': '1' } }],
    ['the network of the machine', {}, { NetworkMode: 'host' }],
    ['more memory', {}, { Memory: 2 ** 40, MemorySwap: 2 ** 40 }],
    ['swap', {}, { MemorySwap: 2 ** 30 }],
    ['no limit of processes', {}, { PidsLimit: -1 }],
  ])('is refused with %s', (_, change, host) => {
    assert.throws(() => rebuild(change, host), refused);
  });

  test('is the only container that joins and leaves networks', () => {
    const name = forwarderName(owner);
    const connection = {
      Container: name,
      EndpointConfig: { IPAMConfig: { IPv4Address: '10.213.7.9' } },
    };
    assert.deepEqual(rebuildConnection(JSON.stringify(connection), owner), connection);
    const disconnection = { Container: name, Force: true };
    assert.deepEqual(rebuildDisconnection(JSON.stringify(disconnection), owner), disconnection);
    for (const change of [
      { Container: `${owner.hubName}-memory` },
      { EndpointConfig: { IPAMConfig: { IPv4Address: '172.17.0.2' } } },
      { EndpointConfig: { ...connection.EndpointConfig, Aliases: ['redis'] } },
    ])
      assert.throws(
        () => rebuildConnection(JSON.stringify({ ...connection, ...change }), owner),
        refused,
      );
    assert.throws(
      () => rebuildDisconnection(JSON.stringify({ ...disconnection, Container: 'redis' }), owner),
      refused,
    );
  });
});
