/** Drawn inline, so that no font has to have them. 16 units square, in the colour of the text. */

const paths = {
  chevron: 'M6 4l4 4-4 4',
  down: 'M4 6l4 4 4-4',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  folder:
    'M2 4.5A1.5 1.5 0 0 1 3.5 3h2.6l1.5 1.6h4.9A1.5 1.5 0 0 1 14 6.1v5.4a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 11.5z',
  query: 'M3 4h10M3 8h6M3 12h8',
  source:
    'M3 4.2C3 3 5.2 2.2 8 2.2s5 .8 5 2-2.2 2-5 2-5-.8-5-2zM3 4.2v7.6c0 1.2 2.2 2 5 2s5-.8 5-2V4.2M3 8c0 1.2 2.2 2 5 2s5-.8 5-2',
  classifier: 'M2.5 8.4V3.5a1 1 0 0 1 1-1h4.9l5 5a1 1 0 0 1 0 1.4l-4.5 4.5a1 1 0 0 1-1.4 0zM5.6 5.6h.01',
  summary: 'M3 3.5h10M3 6.5h10M3 9.5h6M3 12.5h4',
  key: 'M10.2 6.8a3 3 0 1 0-2.1 2.1L9.4 10.2h1.4v1.4h1.4V13h1.6v-1.9zM5.6 5.6h.01',
  people:
    'M6 8a2.3 2.3 0 1 0 0-4.6A2.3 2.3 0 0 0 6 8zM2 13c0-2.2 1.8-3.4 4-3.4s4 1.2 4 3.4M10.4 3.6a2.2 2.2 0 0 1 0 4.2M11.4 9.9c1.6.3 2.6 1.4 2.6 3.1',
  audit: 'M4 2.5h8v11l-2-1.2-2 1.2-2-1.2-2 1.2zM6 5.5h4M6 8.5h4',
  statistics: 'M3.5 13V9M8 13V3M12.5 13V6',
  search: 'M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM14 14l-3.5-3.5',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  more: 'M3 8a.4.4 0 1 0 .8 0a.4.4 0 1 0-.8 0M7.6 8a.4.4 0 1 0 .8 0a.4.4 0 1 0-.8 0M12.2 8a.4.4 0 1 0 .8 0a.4.4 0 1 0-.8 0',
  play: 'M5 3.2v9.6L12.8 8z',
  stop: 'M4.5 4.5h7v7h-7z',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z',
  check: 'M3 8.5l3.2 3.2L13 5',
  edit: 'M3 13h2.4L13 5.4 10.6 3 3 10.6z',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  table: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6',
  hub: 'M8 2l5.2 3v6L8 14l-5.2-3V5zM8 8l5.2-3M8 8v6M8 8L2.8 5',
  pin: 'M6 2.5h4M6.5 2.5v4L4.5 9h7l-2-2.5v-4M8 9v4.5',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.8h-2.8',
  bell: 'M8 2.3a3.6 3.6 0 0 0-3.6 3.6c0 3.2-1.2 3.9-1.4 5.1h10c-.2-1.2-1.4-1.9-1.4-5.1A3.6 3.6 0 0 0 8 2.3zM6.7 13.3a1.5 1.5 0 0 0 2.6 0',
  warn: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.3v.01',
};

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
);
