import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { describe, test } from 'vitest';
import { describeWithEngine } from './engine.ts';

/**
 * With AGENTHUB_REQUIRE_BROWSER=1 tests fail where there is no browser. CI sets it, as it has one and may skip nothing.
 */
const browserRequired = process.env['AGENTHUB_REQUIRE_BROWSER'] === '1';
/** Paths of Chromium and Chrome on Debian, Ubuntu and macOS. The headless shell needs half the CPU of the others. */
const usualPlaces = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const executable = findBrowser();

function findBrowser(): string | undefined {
  const named = process.env['CHROMIUM_PATH'];
  return (named ? [named] : usualPlaces).find(place => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Declares tests that need a browser and servers in containers. Without a browser or an engine the tests are skipped,
 * with the reason in their name, or fail where AGENTHUB_REQUIRE_BROWSER=1 or AGENTHUB_REQUIRE_ENGINE=1 is set.
 */
export function describeWithBrowser(name: string, tests: () => void): void {
  const problem = 'no Chromium is at CHROMIUM_PATH or in the usual places';
  if (executable !== undefined) {
    describeWithEngine(name, tests);
  } else if (browserRequired) {
    test(`${name}: needs a browser`, () => {
      assert.fail(`AGENTHUB_REQUIRE_BROWSER=1, but ${problem}`);
    });
  } else {
    describe.skip(`${name} (skipped: ${problem}; tests/browser/up installs one)`, tests);
  }
}

let shared: Promise<Browser> | undefined;

/**
 * Returns the Chromium that all test files of this process share. It resolves no host name but localhost. Each test
 * opens its own browser context, with its own profile, and closes only that context.
 */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  return shared;
}

async function launchBrowser(): Promise<Browser> {
  assert.ok(executable, 'only tests of describeWithBrowser may ask for a browser');
  const browser = await chromium.launch({
    executablePath: executable,
    handleSIGTERM: false,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1',
    ],
  });
  // A browser that crashes fails only the test that used it: the next test launches a new one.
  browser.once('disconnected', () => (shared = undefined));
  // Vitest ends its processes with SIGTERM. Close the browser first, or its profile stays on the disk.
  process.once('SIGTERM', () => void browser.close().finally(() => process.kill(process.pid)));
  return browser;
}

export type Visit = BrowserContextOptions & {
  /** The only origin that pages may send requests to, such as http://localhost:41234. */
  readonly baseURL: string;
  /** Errors and warnings that the console may contain in this test, such as that of a refused request. */
  readonly expected?: RegExp;
};

/**
 * Calls `look` with a page of a fresh profile. Rejects with what `look` throws, and if the page wrote an error to its
 * console, threw one, had a request that failed or was answered with an error, or sent a request to another origin.
 */
export async function visit<T>(
  { expected, ...options }: Visit,
  look: (page: Page) => Promise<T>,
): Promise<T> {
  const browser = await sharedBrowser();
  const context = await browser.newContext(options);
  // Without this limit a test would end by its own timeout, which does not say what it waited for.
  context.setDefaultTimeout(20_000);
  const problems: string[] = [];
  context.on('console', message => {
    const isProblem = message.type() === 'error' || message.type() === 'warning';
    if (isProblem && !expected?.test(message.text()))
      problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', error => void problems.push(`thrown: ${error.error().stack}`));
  context.on('request', request => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== options.baseURL && protocol !== 'data:')
      problems.push(`another origin is asked: ${request.url()}`);
  });
  try {
    const seen = await look(await context.newPage());
    assert.deepEqual(problems, []);
    return seen;
  } finally {
    await context.close();
  }
}
