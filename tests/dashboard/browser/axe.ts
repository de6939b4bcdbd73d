import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { isObject } from '#core';

/**
 * Script that finds elements that would lose the focus when their part of the page is updated, because they have no
 * unique id.
 */
export const losesFocus = `
  [...document.querySelectorAll('[hx-trigger*=every] :is(a, button, input:not([type=hidden]), select, textarea, summary, [tabindex])')]
    .filter(({ id }) => id === '' || document.querySelectorAll('#' + CSS.escape(id)).length > 1)
    .map(({ outerHTML }) => outerHTML)
`;

/** Minified, because each page has to parse it. */
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Rules whose findings count although axe calls them moderate. */
const counting: readonly unknown[] = ['landmark-unique'];

/**
 * Returns axe's serious and critical findings about a page as it is shown, one per line. `rules`: all rules, or only
 * the contrast rule, the only one that depends on colours.
 */
export async function seriousFindings(
  page: Page,
  rules: 'all' | 'contrast',
): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'contrast' && { runOnly: ['color-contrast'] }),
  };
  const found: unknown = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  assert.ok(isObject(found) && Array.isArray(found['violations']));
  const violations: readonly unknown[] = found['violations'];
  return violations.flatMap(violation => {
    assert.ok(isObject(violation) && Array.isArray(violation['nodes']));
    const { id, impact, help } = violation;
    if (impact !== 'serious' && impact !== 'critical' && !counting.includes(id)) return [];
    const nodes: readonly unknown[] = violation['nodes'];
    const places = nodes.map(node => (isObject(node) ? String(node['html']) : ''));
    return [`${String(impact)}: ${String(id)}: ${String(help)}: ${places.join(' | ')}`];
  });
}
