/** What the build sets. Style sheets come in the scripts that need them. */

declare global {
  /** Names the build. */
  const BUILD: string;
  /** The style sheet of the first page. */
  const FIRST_STYLES: string;
  /** That of the views that are loaded after it. */
  const LATER_STYLES: string;
}

export function applyStyles(text: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  document.adoptedStyleSheets.push(sheet);
}
