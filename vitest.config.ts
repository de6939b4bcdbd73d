import { totalmem } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Whole hubs, containers, and programs that are measured. */
const systems = ['tests/{faults,fuzz,house,soak,system}/**/*.test.ts'];
/** Not beside containers, each of which changes the networks of the machine: Chromium then drops what it is loading. */
const pages = [
  'tests/dashboard/browser/**/*.test.ts',
  'tests/dashboard/catalog.test.ts',
  'tests/system/{logins,program-logins}.test.ts',
];
/** It counts the modules that a process loads, so it needs a process of its own. */
const ownProcess = ['tests/http/listen.test.ts'];
/**
 * What these find out depends on the time that things take, or on the memory of the machine: each has a core for
 * itself. Most compare the time of calls with that of a control beside them, which a busy machine delays as well.
 */
const twoAtATime = [
  'tests/faults/{breaker,clock,config,disk,redis,server}.test.ts',
  'tests/resilience/redis-faults.test.ts',
  'tests/system/idle-memory.test.ts',
];
/** It shows pages and starts containers itself. */
const alone = ['tests/system/package-upgrade.test.ts'];
/**
 * A real Ollama, where one is given, serves one test file at a time. One whose model two files use with different
 * contexts at once can stop answering until the model has been idle for its keep_alive (seen with 0.24).
 */
const hasRealOllama = process.env['OLLAMA_URL'] !== undefined;
/**
 * More than a small machine has cores, as these tests wait for a third of their time or more. A test process and what it
 * starts take up to 3 GiB.
 */
const atATime = hasRealOllama
  ? 1
  : Math.max(1, Math.min(4, Math.floor(totalmem() / (3 * 2 ** 30))));
const timeouts = { testTimeout: 30_000, hookTimeout: 300_000 };
/** A hub that a fault makes late is late again; what the machine did is not. Both times count for the timeout. */
const late = {
  retry: { count: 1, condition: /the neighbour's p99 was|a refused call took/ },
  testTimeout: 2 * timeouts.testTimeout,
};

/** The files that take longest, the longest first. Begun late, one would keep a single worker busy at the end. */
const longest = [
  'system/compose',
  'system/docker-images',
  'system/npm-start',
  'system/release',
  'faults/engine',
  'tasks/tasks',
  'system/install',
  'dashboard/browser/actions',
  'system/conformance',
  'system/everything',
  'system/documented-commands',
  'system/agents',
  'faults/engine-away',
  'http/guard-table',
  'system/fleet',
  'soak/churn',
  'system/bridging',
  'system/docker-lifecycle',
  'house/build',
  'documentation/documentation',
  'system/agent-looks',
  'tasks/recovery',
  'enhance/enhancer-faults',
  'system/audit',
  'cache/redis-faults',
  'dashboard/browser/pages',
  'system/logins',
  'system/killed-tasks',
  'system/dropped-sessions',
  'system/egress-forwarder',
  'faults/hub',
  'faults/memory',
  'system/docker-runtime',
  'system/program-logins',
  'system/secrets',
  'system/broker',
  'config/source',
  'system/isolation',
  'cli/stdio',
  'system/client-conformance',
  'system/docker-silence',
  'system/client-eras',
  'system/docker-adoption',
  'system/agent-image',
  'faults/breaker-owners',
  'system/secrets-in-use',
  'transports/streamable',
  'system/builds',
  'system/observability',
  'runtimes/process/watcher',
  'system/documentation',
  'system/resumed-sessions',
  'system/egress',
  'system/egress-hub',
  'enhance/pairs',
  'servers/handshake/eras',
  'dashboard/browser/decisions',
  'system/ready-screen',
  'system/named-clients',
  'resilience/redis-sharing',
  'repositories/hostile',
  'system/lifecycle',
  'system/pins',
  'transports/client-transports',
  'repositories/repositories',
  'cli/terminal',
  'faults/limits',
  'ollama-mcp/inspector',
  'system/instances',
  'dashboard/browser/many',
  'servers/server',
  'dashboard/browser/agents',
  'system/upgrade',
  'documentation/process/run-in-process',
  'documentation/real-projects',
  'resilience/shared-breakers',
  'documentation/model/describe-modules',
  'fuzz/over-http',
  'routing/router',
  'system/hub-sampling',
  'dashboard/browser/screenshots',
  'installs/installs',
  'system/real-servers',
  'faults/flood',
  'vectors/embedded',
  'enhance/guards',
  'system/egress-refusals',
  'system/secret-delivery',
  'cli/commands/doctor',
  'system/python',
  'system/tasks',
  'repositories/crash',
  'system/egress-fair',
  'system/call-token',
  'system/plain-posts',
  'enhance/semantic-pairs',
  'fuzz/over-sse',
  'vectors/contract',
].map(name => `/tests/${name}.test.ts`);

/**
 * The longest files first, project by project: a process takes files of one project only. Within the others, Vitest's
 * own order begins with the largest.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const at = longest.findIndex(name => moduleId.endsWith(name));
      return (project.name === 'rooms' ? 0 : longest.length + 1) + (at < 0 ? longest.length : at);
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    // Node loads the modules itself, as it does for users: a third of the time of loading is saved.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    globalSetup: ['tests/helpers/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'rooms',
          include: ['tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...systems, ...pages, ...ownProcess, ...twoAtATime],
          // One process for many files: loading the modules again for each took a third of the time.
          isolate: false,
          maxWorkers: atATime,
          sequence: { groupOrder: 0 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'systems',
          include: systems,
          exclude: [...configDefaults.exclude, ...pages, ...twoAtATime, ...alone],
          // As above: a process for each file cost about 1 s of CPU.
          isolate: false,
          maxWorkers: atATime,
          // With the rooms, so that no process waits for the last of them.
          sequence: { groupOrder: 0 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'pages',
          include: pages,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'two at a time',
          include: [...twoAtATime, ...ownProcess],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          ...timeouts,
          ...late,
        },
      },
      {
        test: {
          name: 'alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
          ...timeouts,
        },
      },
    ],
  },
});
