// Keeps a page up to date. An event stream of the hub reports which part of the page has changed, and htmx
// reloads that part. Without the stream, the parts reload every ten seconds.
(() => {
  const events =
    'health stats activity server offers log sessions caches install agent files task approvals pins'.split(
      ' ',
    );
  /** The last content of each part. An unchanged part is not replaced, so it keeps focus and selection. */
  const said = new Map();
  /** An EventSource does not reconnect after an error status. */
  const againMs = 10_000;
  let stream;
  let again;

  function live(text) {
    const place = document.getElementById('live');
    if (!place || place.textContent === text) return;
    place.textContent = text;
    place.dataset.is = text === 'Live' ? 'live' : 'lost';
  }

  /** Reloads every part of the page. */
  function ask() {
    for (const name of events) window.htmx.trigger(document.body, name);
  }

  /** The hub does not answer: mark the page as out of date until a part is loaded again. */
  function lose(text) {
    live(text);
    document.body.dataset.is = 'lost';
  }

  function open() {
    clearTimeout(again);
    const { events: address } = document.body.dataset;
    if (!address || stream || document.hidden) return;
    stream = new EventSource(address);
    let isLost = false;
    stream.addEventListener('open', () => {
      live('Live');
      if (isLost) ask();
      isLost = false;
    });
    stream.addEventListener('error', () => {
      live('Not connected');
      // Reload a part to find out whether the hub is reachable: it may only have too many streams.
      if (!isLost) ask();
      isLost = true;
      if (stream?.readyState !== EventSource.CLOSED) return;
      stream = undefined;
      again = setTimeout(open, againMs);
    });
    for (const name of events)
      stream.addEventListener(name, () => window.htmx.trigger(document.body, name));
  }

  function close() {
    clearTimeout(again);
    stream?.close();
    stream = undefined;
  }

  /** Shows times in the reader's time zone and language. */
  function showTimes() {
    for (const time of document.querySelectorAll('time[data-show]:not([title])')) {
      const at = new Date(time.dateTime);
      time.textContent =
        time.dataset.show === 'time' ? at.toLocaleTimeString() : at.toLocaleString();
      time.title = at.toLocaleString();
    }
  }

  /** Scrolls a log to its end, unless the reader has scrolled up. */
  let isAtEnd = true;
  let readAt = 0;
  const findLog = () => document.querySelector('[data-tail]');
  function showEnd() {
    const log = findLog();
    if (log) log.scrollTop = isAtEnd ? log.scrollHeight : readAt;
  }

  // A button that is replaced between press and release gets no click event. The next update follows soon.
  let isPressed = false;
  document.addEventListener('pointerdown', ({ target }) => {
    isPressed = target.closest('a, button') !== null;
  });
  for (const name of ['pointerup', 'pointercancel'])
    document.addEventListener(name, () => (isPressed = false));

  // A tab in the background loads nothing and closes its connection.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return close();
    open();
    ask();
  });
  document.addEventListener('htmx:beforeRequest', event => {
    const { verb } = event.detail.requestConfig;
    if (document.hidden && verb === 'get') event.preventDefault();
  });
  document.addEventListener('htmx:beforeSwap', event => {
    const { detail } = event;
    const isOurs = detail.xhr.getResponseHeader('HX-Retarget') !== null;
    if (detail.isError && !isOurs) {
      detail.shouldSwap = false;
      lose('Not up to date');
      return;
    }
    delete document.body.dataset.is;
    const log = findLog();
    if (log) {
      readAt = log.scrollTop;
      isAtEnd = log.scrollHeight - readAt - log.clientHeight < 8;
    }
    if (detail.requestConfig.verb !== 'get') return;
    if (isPressed) {
      detail.shouldSwap = false;
      return;
    }
    const { id } = detail.target;
    if (said.get(id) === detail.serverResponse) detail.shouldSwap = false;
    said.set(id, detail.serverResponse);
  });
  document.addEventListener('htmx:sendError', () => lose('Not connected'));
  // Before the first paint, so that the change is not visible.
  const show = () => {
    showTimes();
    showEnd();
  };
  document.addEventListener('htmx:afterSwap', show);
  document.addEventListener('DOMContentLoaded', () => {
    show();
    open();
  });
  window.addEventListener('pagehide', close);
  window.addEventListener('pageshow', event => {
    if (event.persisted) open();
  });
})();
