import { totalmem } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that start whole hubs or containers, or that measure programs. */
const systems = ['tests/{faults,fuzz,house,soak,system}/**/*.test.ts'];
/** Tests in Chromium. Each start of a container changes the host's networks, and Chromium then aborts its requests. */
const pages = [
  'tests/dashboard/browser/**/*.test.ts',
  'tests/dashboard/catalog.test.ts',
  'tests/system/{logins,program-logins}.test.ts',
];
/** Tests that count the modules that a process loads, and so need a process of their own. */
const ownProcess = ['tests/http/listen.test.ts'];
/**
 * Tests that measure durations or the memory of the machine. They wait most of the time, so three at a time do not use
 * all of two cores. Most compare the duration of calls with that of concurrent control calls, which a busy machine
 * delays as well.
 */
const measuring = [
  'tests/faults/{breaker,clock,config,disk,redis,server}.test.ts',
  'tests/resilience/redis-faults.test.ts',
  'tests/system/idle-memory.test.ts',
];
/** Tests that both load pages in Chromium and start containers, and so run alone. */
const alone = ['tests/system/package-upgrade.test.ts'];
/**
 * True if tests use a real Ollama. It serves one test file at a time: if two files use a model with different context
 * sizes at once, Ollama can stop answering until the model has been idle for its keep_alive (seen with 0.24).
 */
const hasRealOllama = process.env['OLLAMA_URL'] !== undefined;
/**
 * Maximum number of test processes. It may exceed the number of cores, because tests wait for at least a third of their
 * time. A test process and its child processes take up to 3 GiB.
 */
const atATime = hasRealOllama
  ? 1
  : Math.max(1, Math.min(4, Math.floor(totalmem() / (3 * 2 ** 30))));
/** On a slow machine, tests that start several hubs or containers take up to 30 s beside three others. */
const timeouts = { testTimeout: 60_000, hookTimeout: 300_000 };
/**
 * Retries a measurement once: a fault of the hub has the same result again, a busy machine probably does not. Each attempt
 * may take twice as long as other tests, because three at a time share two cores.
 */
const retried = {
  retry: { count: 1, condition: /the neighbour's p99 was|a refused call took|MB resident/ },
  testTimeout: 2 * timeouts.testTimeout,
};

/** The slowest test files, slowest first. If one started late, the other workers would be idle at the end. */
const longest = [
  'system/release',
  'system/docker-images',
  'system/compose',
  'system/npm-start',
  'faults/engine',
  'tasks/tasks',
  'system/conformance',
  'dashboard/browser/actions',
  'system/everything',
  'house/build',
  'faults/engine-away',
  'system/audit',
  'system/agents',
  'system/fleet',
  'system/docker-lifecycle',
  'soak/churn',
  'system/agent-looks',
  'system/documented-commands',
  'documentation/documentation',
  'repositories/repositories',
  'system/bridging',
  'faults/hub',
  'repositories/hostile',
  'system/resumed-sessions',
  'system/named-clients',
  'repositories/crash',
  'system/client-conformance',
  'tasks/recovery',
  'faults/memory',
  'dashboard/browser/pages',
  'cache/redis-faults',
  'faults/flood',
  'system/agent-image',
  'system/killed-tasks',
  'system/install',
  'enhance/pairs',
  'system/egress-forwarder',
  'faults/breaker-owners',
  'cli/main',
  'system/upgrade',
  'system/docker-runtime',
  'transports/streamable',
  'system/secrets-in-use',
  'system/pins',
  'system/secrets',
  'enhance/enhancer-faults',
  'system/documentation',
  'cli/terminal',
  'system/dropped-sessions',
  'faults/limits',
  'system/client-eras',
  'cli/stdio',
  'system/isolation',
  'system/builds',
  'system/broker',
  'http/guard-table',
  'transports/client-transports',
  'ollama-mcp/inspector',
  'system/program-logins',
  'enhance/guards',
  'dashboard/browser/many',
  'clients/connect-plan',
  'fuzz/over-http',
  'system/docker-adoption',
  'system/egress-hub',
  'system/logins',
  'system/tasks',
  'config/source',
  'system/two-hubs-tasks',
  'cli/commands/import',
  'system/docker-silence',
  'system/egress',
  'routing/bridge/input-required',
  'http/tool-policy',
  'system/observability',
  'enhance/semantic-pairs',
  'cli/commands/doctor',
  'vectors/qdrant/qdrant-vectors',
  'runtimes/process/watcher',
  'system/lifecycle',
  'servers/server',
  'house/lean',
  'servers/handshake/eras',
  'http/routes/authorization',
  'dashboard/browser/decisions',
  'system/instances',
  'transports/websocket',
  'faults/audit-disk',
  'system/management-tools',
  'routing/access',
  'vectors/embedded',
  'resilience/redis-sharing',
  'documentation/process/run-in-process',
  'ollama-mcp/alone',
  'cli/ending',
  'system/hubs-of-hubs',
  'system/real-servers',
  'system/hub-sampling',
  'documentation/real-projects',
  'system/limits',
  'vectors/contract',
  'system/prompts',
  'system/activity',
  'routing/router',
].map(name => `/tests/${name}.test.ts`);

/**
 * Runs the slowest files of each project first: a process runs files of one project only. Files that are not in
 * `longest` stay in Vitest's own order, which begins with the largest.
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
    // Node loads the modules itself, as for users, which reduces the time to load them by a third.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    globalSetup: ['tests/helpers/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'rooms',
          include: ['tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...systems, ...pages, ...ownProcess, ...measuring],
          // A process runs many files: a process per file spent a third of the time on loading modules.
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
          exclude: [...configDefaults.exclude, ...pages, ...measuring, ...alone],
          // A process runs many files: a process per file costs about 1 s of CPU time.
          isolate: false,
          maxWorkers: atATime,
          // In the same group as the project `rooms`, so that no process idles until its last file ends.
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
          name: 'measuring',
          include: [...measuring, ...ownProcess],
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
          ...timeouts,
          ...retried,
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
