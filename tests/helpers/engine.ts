import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { engineRequired, probeEngine } from './engine-probe.ts';

// Asked once for each test file, when it is loaded: whether tests exist is decided synchronously.
const problem = await probeEngine();

/** True where a Docker engine answers. */
export function engineAvailable(): boolean {
  return problem === undefined;
}

/**
 * Tests that need a Docker engine. Without one they are skipped by name, with the reason in it, or
 * fail where AGENTHUB_REQUIRE_ENGINE=1 says that there must be one.
 */
export function describeWithEngine(name: string, tests: () => void): void {
  if (problem === undefined) {
    describe(name, tests);
  } else if (engineRequired) {
    test(`${name}: needs a Docker engine`, () => {
      assert.fail(`AGENTHUB_REQUIRE_ENGINE=1, but ${problem}`);
    });
  } else {
    describe.skip(`${name} (skipped: ${problem})`, tests);
  }
}
