import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { engineRequired, probeEngine } from './engine-probe.ts';

// The engine is probed once when a test file is loaded, because Vitest collects tests synchronously.
const problem = await probeEngine();

export function engineAvailable(): boolean {
  return problem === undefined;
}

/**
 * Declares tests that need a Docker engine. Without one they are skipped, with the reason in their name, or fail where
 * AGENTHUB_REQUIRE_ENGINE=1 is set.
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
