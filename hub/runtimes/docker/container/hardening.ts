/** Security options of all containers of the hub. */
export const hardening = {
  // docker-init reaps orphaned processes, and forwards SIGTERM to servers that would ignore it as pid 1.
  Init: true,
  // The hub reads the exit state before it removes the container.
  AutoRemove: false,
  RestartPolicy: { Name: 'no' },
  Privileged: false,
  CapDrop: ['ALL'],
  SecurityOpt: ['no-new-privileges'],
  ReadonlyRootfs: true,
  IpcMode: 'private',
  // With cgroup v1, the engine's default is the cgroup namespace of the host.
  CgroupnsMode: 'private',
};

/** The standard streams of all containers of the hub, to which it attaches. */
export const openStreams = {
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
  OpenStdin: true,
  // Stdin stays open without a connection: the next run of the hub may attach again.
  StdinOnce: false,
  Tty: false,
};
