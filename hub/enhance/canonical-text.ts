/** A prompt in two: what is asked, and what it is asked about. */
export type Parts = {
  /** What is asked, in plain spelling. */
  readonly head: string;
  /** What stands behind the first colon or on the lines below: kept as it is but for blanks. */
  readonly payload: string;
};

/** Lines in which blanks and marks mean something. */
const code = /```|^(?:\t| {2,})\S|[{};][ \t]*$/m;

/** Splits a prompt where its own words end and text that it brings along begins. */
export function partsOf(text: string): Parts {
  const whole = text.normalize('NFC').replaceAll(/\r\n?/g, '\n').replace(/^\s+/, '').trimEnd();
  const asked = /^(?:i have a )?(?:quick|short|small) question\s*:\s*/i.exec(whole)?.[0] ?? '';
  const rest = whole.slice(asked.length);
  const at = rest.search(/:(?=\s)|\n|```/);
  const head = at < 0 ? rest : rest.slice(0, at);
  const payload = at < 0 ? '' : rest.slice(at).replace(/^[:\s]+(?=\S)/, '');
  return {
    head: plain(head),
    payload: /^[:\s]*$/.test(payload) ? '' : evenly(payload, rest.slice(at)),
  };
}

/** Blanks as one blank, but where the text looks like code. */
function evenly(payload: string, asWritten: string): string {
  return code.test(asWritten) ? asWritten : payload.replaceAll(/\s+/g, ' ').trim();
}

/** The same text in the marks of a plain keyboard, with single blanks. */
export function plain(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\u200b\u2060\ufeff\u00ad]/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/\u00ab ?| ?\u00bb|[\u201c\u201d\u201e]/g, '"')
    .replaceAll(/[\u2010\u2011]/g, '-')
    .replaceAll(/ ?[\u2013\u2014] ?/g, ' - ')
    .replaceAll('\u2026', '...')
    .replaceAll(/[\u2192\u27f6]/g, '->')
    .trim();
}
