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
/** These compare the time of calls with that of a control beside them, which a busy machine delays as well. */
const twoAtATime = ['tests/faults/{breaker,clock,config,redis,server}.test.ts'];
/** What these find out depends on the time that things take, or on the memory of the machine, or they show pages and start containers. */
const alone = [
  'tests/faults/disk.test.ts',
  'tests/resilience/redis-faults.test.ts',
  'tests/system/idle-memory.test.ts',
  'tests/system/package-upgrade.test.ts',
];
/**
 * A real Ollama, where one is given, serves one test file at a time. One whose model two files use with different
 * contexts at once can stop answering until the model has been idle for its keep_alive (seen with 0.24).
 */
const hasRealOllama = process.env['OLLAMA_URL'] !== undefined;
const timeouts = { testTimeout: 30_000, hookTimeout: 300_000 };
/** A hub that a fault makes late is late again; what the machine did is not. Both times count for the timeout. */
const late = {
  retry: { count: 1, condition: /the neighbour's p99 was|a refused call took/ },
  testTimeout: 2 * timeouts.testTimeout,
};

/** The files that take longest, the longest first. Begun late, one would keep a single worker busy at the end. */
const longest = [
  'system/npm-start',
  'faults/engine',
  'system/docker-images',
  'tasks/tasks',
  'system/compose',
  'dashboard/browser/actions',
  'system/client-conformance',
  'system/install',
  'system/documented-commands',
  'system/conformance',
  'soak/churn',
  'system/secrets-in-use',
  'enhance/pairs',
  'enhance/semantic-pairs',
  'system/everything',
  'system/release',
  'system/bridging',
  'http/guard-table',
  'system/killed-tasks',
  'faults/engine-away',
  'system/fleet',
  'system/agent-looks',
  'tasks/recovery',
  'documentation/real-projects',
  'system/audit',
  'transports/client-transports',
  'system/logins',
  'dashboard/browser/pages',
  'system/isolation',
  'house/build',
  'system/agents',
  'system/program-logins',
  'system/secret-delivery',
  'faults/limits',
  'system/docker-adoption',
  'documentation/model/describe-modules',
  'system/docker-lifecycle',
  'repositories/repositories',
  'cache/redis-faults',
  'documentation/documentation',
  'routing/access-random',
  'system/resumed-sessions',
  'faults/memory',
  'faults/hub',
  'system/lifecycle',
  'repositories/hostile',
  'dashboard/browser/screenshots',
  'faults/breaker-owners',
  'dashboard/browser/decisions',
  'system/secrets',
  'ollama-mcp/inspector',
  'fuzz/over-sse',
  'dashboard/browser/many',
  'enhance/enhancer-faults',
  'system/egress-forwarder',
  'system/dropped-sessions',
  'routing/access',
  'system/hub-sampling',
  'system/broker',
  'cli/main',
  'transports/streamable',
  'fixtures/eras',
  'system/tasks',
  'config/source',
  'system/docker-runtime',
  'faults/flood',
  'cli/stdio',
  'system/client-eras',
  'cli/terminal',
  'clients/connect-plan',
  'system/docker-silence',
  'system/management-tools',
  'fuzz/router',
  'system/agent-image',
  'cli/commands/doctor',
  'system/named-clients',
  'system/observability',
  'dashboard/browser/agents',
  'runtimes/process/watcher',
].map(name => `/tests/${name}.test.ts`);

/** Vitest's own order begins with the largest files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex(name => moduleId.endsWith(name));
      return at < 0 ? longest.length : at;
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
          exclude: [...configDefaults.exclude, ...systems, ...pages, ...ownProcess, ...alone],
          // One process for many files: loading the modules again for each took a third of the time.
          isolate: false,
          // More than a small machine has cores, as these tests wait for half of their time.
          maxWorkers: hasRealOllama ? 1 : 3,
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
          // As above: with as many as a small machine has cores, a third of their time was idle.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'pages',
          include: pages,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'two at a time',
          include: [...twoAtATime, ...ownProcess],
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
          ...timeouts,
          ...late,
        },
      },
      {
        test: {
          name: 'one at a time',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 4 },
          ...timeouts,
          ...late,
        },
      },
    ],
  },
});
