const markup = Symbol('markup');

/** Safe markup. Only `html` creates it, and all values in it are escaped. */
export type Html = { readonly [markup]: string };

/** Content for markup: text, which is escaped, markup, or nothing. */
export type Content = Html | string | number | undefined | false | readonly Content[];

/**
 * Template tag that builds markup and escapes each value. Values in attributes must be in double quotes
 * (tests/dashboard/html.test.ts checks this).
 */
export function html(written: readonly string[], ...values: readonly Content[]): Html {
  let text = '';
  for (const [index, piece] of written.entries()) {
    text += piece;
    if (index < values.length) text += escaped(values[index]);
  }
  return { [markup]: text };
}

export const textOf = (page: Html): string => page[markup];

function escaped(content: Content): string {
  if (content === undefined || content === false) return '';
  if (typeof content === 'string') return escapeText(content);
  if (typeof content === 'number') return String(content);
  if (isMarkup(content)) return content[markup];
  let text = '';
  for (const one of content) text += escaped(one);
  return text;
}

const isMarkup = (content: Html | readonly Content[]): content is Html => markup in content;

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeText = (text: string) => text.replace(/[&<>"']/g, found => references[found] ?? '');
