import { z } from 'zod';
import { isObject, tryParseJson } from '#core';
import { integer, localLog, mebibyte, openStreams } from './container.ts';
import {
  type HubIdentity,
  isBuildName,
  matching,
  ownLabels,
  ownNetworkName,
  rebuildBody,
} from './schema.ts';

const gatewayMode = 'com.docker.network.bridge.gateway_mode_ipv4';
const poolRule = 'must be in 10.213.0.0/16, the pool for networks of servers';
/** Schema of an address in the pool, which the hub's Docker runtime uses as well. */
const inPool = (bits: string) =>
  matching(new RegExp(`^10\\.213\\.\\d{1,3}\\.\\d{1,3}${bits}$`), poolRule);

/**
 * Rebuilds the body of a network creation. The network of a server is isolated: neither the machine nor the outside can
 * be reached from it. Only the forwarder and builds have plain bridges. Throws HUB_BROKER_REFUSED.
 */
export function rebuildNetwork(body: string, owner: HubIdentity) {
  const plain = z.strictObject({
    Name: z.string().refine(name => name === forwarderName(owner) || isBuildName(name, owner), {
      error:
        'must be that of the forwarder or of a build: the network of a server is internal and isolated',
    }),
    Driver: z.literal('bridge').default('bridge'),
    Labels: ownLabels(owner),
  });
  const isolated = plain.extend({
    Name: ownNetworkName(owner),
    Internal: z.literal(true),
    EnableIPv6: z.literal(false),
    IPAM: z.strictObject({
      Config: z.tuple([z.strictObject({ Subnet: inPool('/30'), IPRange: inPool('/32') })]),
    }),
    Options: z.strictObject({ [gatewayMode]: z.literal('isolated') }),
  });
  const given = tryParseJson(body);
  const schema = isObject(given) && 'Internal' in given ? isolated : plain;
  return rebuildBody<object>(body, schema, 'a network');
}

/** True if a network, as the engine describes it, is isolated, so that a server may be in it. */
export const isIsolated = (network: Readonly<Record<string, unknown>>): boolean =>
  network['Internal'] === true &&
  isObject(network['Options']) &&
  network['Options'][gatewayMode] === 'isolated';

/** Name of the container through which servers reach the network. The hub's Docker runtime uses the same name. */
export const forwarderName = ({ hubName }: HubIdentity) => `${hubName}-.egress`;

/** Rebuilds the body of a call that connects the forwarder to the network of a server. Throws HUB_BROKER_REFUSED. */
export function rebuildConnection(body: string, owner: HubIdentity) {
  const schema = z.strictObject({
    Container: z.literal(forwarderName(owner)),
    EndpointConfig: z.strictObject({
      IPAMConfig: z.strictObject({ IPv4Address: inPool('') }),
    }),
  });
  return rebuildBody(body, schema, 'a connection to a network');
}

/**
 * Rebuilds the body of a call that disconnects the forwarder from the network of a server. Throws HUB_BROKER_REFUSED.
 */
export function rebuildDisconnection(body: string, owner: HubIdentity) {
  const schema = z.strictObject({
    Container: z.literal(forwarderName(owner)),
    Force: z.literal(true),
  });
  return rebuildBody(body, schema, 'a disconnection from a network');
}

/**
 * Rebuilds the body that creates the forwarder's container, whose image the broker builds from its own files. It may
 * reach the outside, and has no mounts, variables or command. Throws HUB_BROKER_REFUSED.
 */
export function rebuildForwarder(body: string, owner: HubIdentity) {
  const memory = integer(64 * mebibyte, 1024 * mebibyte);
  const schema = z.strictObject({
    Image: matching(/^agenthub\/egress:[0-9a-f]{12}$/),
    User: z.literal('65532:65532'),
    ...openStreams,
    Labels: ownLabels(owner),
    HostConfig: z
      .strictObject({
        Init: z.literal(true),
        AutoRemove: z.literal(false),
        RestartPolicy: z.strictObject({ Name: z.literal('no') }),
        Privileged: z.literal(false),
        CapDrop: z.tuple([z.literal('ALL')]),
        SecurityOpt: z.tuple([z.literal('no-new-privileges')]),
        ReadonlyRootfs: z.literal(true),
        IpcMode: z.literal('private'),
        CgroupnsMode: z.literal('private'),
        Memory: memory,
        MemorySwap: memory,
        PidsLimit: integer(16, 256),
        NetworkMode: z.literal(forwarderName(owner)),
        // The forwarder is in the networks of all servers, and must not route between them.
        Sysctls: z.strictObject({ 'net.ipv4.ip_forward': z.literal('0') }),
        LogConfig: localLog,
      })
      .refine(host => host.MemorySwap === host.Memory, {
        error: 'must be the same as Memory',
        path: ['MemorySwap'],
      }),
  });
  return rebuildBody(body, schema, 'the forwarder');
}
