// Keeps a page up to date. An event stream of the hub reports which part of the page has changed, and htmx
// reloads that part. Without the stream, the parts reload every ten seconds.
(() => {
  const events =
    'health stats activity server offers log sessions caches install agent files task approvals pins run'.split(
      ' ',
    );
  /** Last HTML of each part of the page. An unchanged part is not replaced, so it keeps focus and selection. */
  const said = new Map();
  /** Delay in ms before a new event stream is opened: an EventSource does not reconnect after an error status. */
  const againMs = 10_000;
  let stream;
  let again;
  /** Time of the last answer of the hub. */
  let knownAt = new Date();

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

  /** Marks the page as out of date until a part is loaded again. Called when the hub does not answer. */
  function lose(text) {
    live(text);
    const { dataset } = document.body;
    if (dataset.is === 'lost') return;
    dataset.is = 'lost';
    const gone = document.getElementById('gone');
    const at = knownAt.toLocaleTimeString();
    if (gone)
      gone.textContent = `The hub does not answer. This page is as of ${at}, and will catch up by itself.`;
  }

  function found() {
    knownAt = new Date();
    if (document.body.dataset.is === undefined) return;
    delete document.body.dataset.is;
    const gone = document.getElementById('gone');
    if (gone) gone.textContent = '';
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

  /** False if the reader has scrolled the log up. Otherwise the log is scrolled to its end after each update. */
  let isAtEnd = true;
  let readAt = 0;
  const findLog = () => document.querySelector('[data-tail]');
  function showEnd() {
    const log = findLog();
    if (log) log.scrollTop = isAtEnd ? log.scrollHeight : readAt;
  }

  // True while a link or button is pressed. Updates are skipped then: an element that is replaced gets no click event.
  let isPressed = false;
  document.addEventListener('pointerdown', ({ target }) => {
    isPressed = target.closest('a, button') !== null;
  });
  document.addEventListener('keydown', ({ key, target }) => {
    if (key === ' ') isPressed = target.closest('button') !== null;
  });
  // No pointerup follows a press that opens a context menu.
  for (const name of ['pointerup', 'pointercancel', 'contextmenu', 'keyup'])
    document.addEventListener(name, () => (isPressed = false));

  /** Coordinates of the pointer in the window; undefined if the pointer is outside the page. */
  let pointer;
  for (const name of ['pointermove', 'pointerdown'])
    document.addEventListener(name, ({ clientX, clientY }) => (pointer = [clientX, clientY]));
  document.documentElement.addEventListener('pointerleave', () => (pointer = undefined));

  /** Time in ms after which a message about an action of the user is removed, unless it reports a failure. */
  const messageMs = 8_000;
  let messageEnd;
  function showMessage() {
    const place = document.getElementById('notice');
    if (!place?.firstElementChild || place.querySelector('.dismiss')) return;
    clearTimeout(messageEnd);
    // Moves the message up if it would cover the element under the pointer.
    const [x, y] = pointer ?? [0, 0];
    const { left, top } = place.getBoundingClientRect();
    place.classList.toggle('above', x > left && y > top);
    const dismiss = document.createElement('button');
    dismiss.className = 'dismiss';
    dismiss.textContent = '×';
    dismiss.ariaLabel = 'Dismiss';
    dismiss.addEventListener('click', () => place.replaceChildren());
    place.append(dismiss);
    if (place.querySelector('.bad')) return;
    const end = () => {
      if (place.matches(':hover, :focus-within')) messageEnd = setTimeout(end, messageMs);
      else place.replaceChildren();
    };
    messageEnd = setTimeout(end, messageMs);
  }
  // The address with which an action ends must not show its message again after a reload.
  const address = document.URL.replace(/(?<=[?&])done=[^&#]*&about=[^&#]*&?/, '');
  history.replaceState(history.state, '', address.replace(/[?&]$/, ''));

  // State from before an update, which must not move the control under the pointer.
  let held;
  const controls = 'main :is(a, button, input, select, textarea, summary)[id]';
  function hold() {
    const control = pointer && document.elementFromPoint(...pointer)?.closest(controls);
    held = { id: control?.id, top: control?.getBoundingClientRect().top };
  }
  function keep() {
    if (!held) return;
    const { id, top } = held;
    held = undefined;
    const { style } = document.querySelector('main');
    const now = id && document.getElementById(id);
    if (!now) {
      style.marginTop = style.marginBottom = '';
    } else {
      const moved = scrollWith(now.getBoundingClientRect().top - top);
      if (moved < 0) style.marginTop = more(style.marginTop, -moved);
      if (moved > 0) {
        style.marginBottom = more(style.marginBottom, moved);
        scrollWith(moved);
      }
    }
  }
  /** Scrolls the page by a number of pixels, and returns the pixels by which it could not scroll. */
  function scrollWith(pixels) {
    const before = window.scrollY;
    window.scrollBy({ top: pixels, behavior: 'instant' });
    return Math.round(pixels - (window.scrollY - before));
  }
  const more = (margin, pixels) => `${(Number.parseFloat(margin) || 0) + pixels}px`;

  /** Ids of the control with the focus before an update, and of its part of the page; undefined if none has it. */
  let focused;
  function holdFocus() {
    const { activeElement: control, body } = document;
    if (control && control !== body)
      focused = { id: control.id, part: control.closest('[hx-get]')?.id };
  }
  /** Moves a lost focus to a place near it: without one, the next Tab would go to the beginning of the page. */
  function keepFocus() {
    if (!focused) return;
    const control = document.getElementById(focused.id);
    const other = control?.closest('.actions')?.querySelector('button:not(:disabled)');
    const [part, main] = [focused.part, 'main'].map(id => document.getElementById(id));
    focused = undefined;
    for (const place of [control, other, part, main]) {
      if (document.activeElement !== document.body) return;
      // An element that is no control has this tabIndex, and gets the focus only if it is set.
      if (place?.tabIndex === -1) place.tabIndex = -1;
      place?.focus({ preventScroll: true });
    }
  }

  document.addEventListener('click', ({ target }) => {
    const button = target.closest('[data-copy]');
    const text = button && document.getElementById(button.dataset.copy)?.textContent;
    if (!text) return;
    void Promise.allSettled([navigator.clipboard.writeText(text)]).then(([{ status }]) => {
      button.textContent = status === 'fulfilled' ? 'Copied' : 'Not allowed';
      document.getElementById('copied').textContent = button.textContent;
    });
    setTimeout(() => (button.textContent = 'Copy'), 2_000);
  });

  // Arguments as JSON take the place of the fields of a tool's form, which may be empty then.
  document.addEventListener('input', ({ target }) => {
    if (target.id === 'json') target.form.noValidate = target.value.trim() !== '';
  });

  // A plain form is sent once: a second click before its answer must not install a server or send a message again.
  const sent = 'htmx-request';
  document.addEventListener('submit', event => {
    const { classList, method } = event.target;
    if (method !== 'post' || event.target.hasAttribute('hx-post')) return;
    if (classList.contains(sent)) event.preventDefault();
    classList.add(sent);
  });

  // Shows the values of a chart at the pointer beside the title of the chart.
  document.addEventListener('pointermove', ({ target }) => {
    const slot = target.closest('.slots rect');
    for (const told of document.querySelectorAll('.chart output')) {
      const isIts = slot?.closest('.chart')?.contains(told);
      const text = isIts ? slot.textContent : '';
      if (told.textContent !== text) told.textContent = text;
    }
  });

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
    found();
    const log = findLog();
    if (log) {
      readAt = log.scrollTop;
      isAtEnd = log.scrollHeight - readAt - log.clientHeight < 8;
    }
    holdFocus();
    if (detail.requestConfig.verb !== 'get') return;
    if (isPressed) {
      detail.shouldSwap = false;
      return;
    }
    const { id } = detail.target;
    if (said.get(id) === detail.serverResponse) detail.shouldSwap = false;
    said.set(id, detail.serverResponse);
    if (detail.shouldSwap) hold();
  });
  document.addEventListener('htmx:sendError', () => lose('Not connected'));
  /** Scrolls the current link into view, in lists of links that scroll horizontally on narrow screens. */
  function showCurrent() {
    for (const link of document.querySelectorAll('nav a[aria-current="page"]')) {
      const list = link.closest('ul');
      if (!list) continue;
      const over = link.getBoundingClientRect().right - list.getBoundingClientRect().right;
      if (over > 0) list.scrollLeft += over + 8;
    }
  }
  // Runs before the first paint, so that the change is not visible.
  const show = () => {
    showTimes();
    showEnd();
    showMessage();
    keep();
    keepFocus();
  };
  document.addEventListener('htmx:afterSwap', show);
  document.addEventListener('DOMContentLoaded', () => {
    show();
    showCurrent();
    open();
  });
  window.addEventListener('pagehide', close);
  window.addEventListener('pageshow', event => {
    if (!event.persisted) return;
    for (const form of document.querySelectorAll('form')) form.classList.remove(sent);
    open();
    ask();
  });
})();
