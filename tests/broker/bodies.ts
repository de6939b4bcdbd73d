/** Hub for which the broker acts in tests. */
export const owner = {
  hubId: 'testhub0',
  hubName: 'agenthub-broker-test',
  agentNetwork: 'agent-host-net',
  dataVolume: 'agenthub-broker-test_hub-data',
};

/** Returns the body of a container creation as the hub's driver sends it, with some fields replaced. */
export function containerBody(host: object = {}, rest: object = {}) {
  return {
    Image: 'node:24-bookworm-slim',
    Hostname: 'mcp-memory',
    User: '65534:65534',
    Env: ['TOKEN=secret'],
    Cmd: ['cat'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: false,
    Tty: false,
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      'io.agenthub.hub': owner.hubId,
      'io.agenthub.server': 'memory',
      'io.agenthub.managed': 'true',
      'com.docker.compose.project': owner.hubName,
      'com.docker.compose.service': 'mcp-memory',
      'com.docker.compose.oneoff': 'False',
      'com.docker.compose.container-number': '1',
      'com.docker.compose.config-hash': 'agenthub',
    },
    ...rest,
    HostConfig: {
      Init: true,
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Memory: 64 * 1024 * 1024,
      MemorySwap: 64 * 1024 * 1024,
      NanoCpus: 500_000_000,
      PidsLimit: 32,
      NetworkMode: 'none',
      Tmpfs: { '/tmp': 'rw,nosuid,nodev,noexec,size=67108864,mode=1777' },
      LogConfig: { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
      Mounts: [],
      ...host,
    },
  };
}
