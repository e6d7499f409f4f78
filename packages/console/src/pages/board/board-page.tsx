/** A board: cards of queries and texts, with shared values; and how it is changed. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { call, part } from '../../api/client.ts';
import { parseExact } from '../../api/exact.ts';
import type { ListedQuery, Variable } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { addressQuery, go, linkTo, setAddressQuery } from '../../state/route.ts';
import { ownOf } from '../../state/variables.ts';
import { useAction } from '../../ui/action.ts';
import { FieldsChanged, SaveProblem, saveFields } from '../../ui/changed-form.tsx';
import { copyText } from '../../ui/copy.ts';
import { counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { isSame } from '../../ui/merged-form.ts';
import { notify } from '../../ui/notice.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';
import type { CardValues } from '../hub/cards.ts';
import { CommonVariable, readHome } from '../hub/home.tsx';
import { commonVariables } from '../hub/pinned.ts';
import {
  asksOf,
  type Board,
  type BoardCard,
  type BoardDraft,
  type BoardFields,
  fieldNames,
  fieldsOf,
  fieldText,
  fieldValue,
  fromQuery,
  isMinutes,
  toBody,
  toCardValues,
  toDraft,
  toQuery,
} from './board.ts';
import { BoardCards } from './board-cards.tsx';
import { BoardSettings } from './board-settings.tsx';
import { saveBoard } from './save-board.ts';
import { forgetUnsaved, keepUnsaved, type Unsaved, unsavedOf } from './unsaved.ts';

interface Read {
  board: Board;
  etag: string;
  queries: ListedQuery[];
}

async function readBoard(boardId: string, hubId: string, signal: AbortSignal): Promise<Read> {
  const reading = call(`v1/boards/${part(boardId)}`, { signal });
  const [response, queries] = await Promise.all([reading, readHome(hubId, signal)]);
  const board = parseExact<Board>(await response.text());
  return { board, etag: response.headers.get('etag') ?? '', queries };
}

interface BoardPageProps {
  hubId: string;
  boardId: string;
  isEdited: boolean;
}

export function BoardPage({ hubId, boardId, isEdited }: BoardPageProps) {
  const loaded = useLoad((signal) => readBoard(boardId, hubId, signal), [boardId, hubId]);
  if (loaded.problem !== undefined) return <PageProblem problem={loaded.problem} />;
  if (loaded.value === undefined) return <Loading what="the board" />;
  const { board, etag } = loaded.value;
  return (
    <Opened
      key={etag}
      read={loaded.value}
      isEdited={isEdited && board.hubId === hubId}
      onSaved={loaded.refresh}
    />
  );
}

const textOf = (name: keyof BoardFields, value: unknown): string | undefined => {
  if (name === 'cards') return counted((value as BoardCard[]).length, 'card');
  return name === 'values' ? toQuery(value as CardValues) || 'none' : undefined;
};

/** The board as the person edits it. */
function useDraft({ board }: Read) {
  const { boardId } = board;
  const [draft, setDraft] = useState(() => unsavedOf(boardId)?.draft ?? toDraft(board));
  const keep = (next: Unsaved) => {
    keepUnsaved(boardId, next);
    setDraft(next.draft);
  };
  const baseOf = () => unsavedOf(boardId)?.base ?? fieldsOf(board);
  return {
    draft,
    isChanged: unsavedOf(boardId) !== undefined && !isSame(draft, toDraft(board)),
    edit: (change: Partial<BoardDraft>) => keep({ base: baseOf(), draft: { ...draft, ...change } }),
    forget: () => {
      forgetUnsaved(boardId);
      setDraft(toDraft(board));
    },
    /** Stores the draft with these values. If somebody else changed the board, `onValues` gets the values to go on with. */
    store: async (values: CardValues, onValues: (values: CardValues) => void) => {
      const path = `v1/boards/${part(boardId)}`;
      const form = { ...draft, values };
      try {
        const of = { path, formOf: fieldsOf, names: fieldNames, textOf };
        await saveFields<Board, BoardFields>(of, { base: baseOf(), form }, () => toBody(form, board.values));
        forgetUnsaved(boardId);
      } catch (err) {
        if (err instanceof FieldsChanged) {
          const { base, form: merged } = (err as FieldsChanged<BoardFields>).fields;
          const { values: theirs, ...next } = merged;
          keep({ base, draft: next });
          onValues(theirs);
        }
        throw err;
      }
    },
  };
}

/** The values of the board, or those of the address, where they stay. */
function useValues(board: Board): [CardValues, (next: CardValues) => void] {
  const [values, setValues] = useState<CardValues>(() => ({
    ...toCardValues(board.values),
    ...fromQuery(addressQuery.value),
  }));
  const show = (next: CardValues) => {
    setValues(next);
    setAddressQuery(toQuery(next));
  };
  return [values, show];
}

interface OpenedProps {
  read: Read;
  isEdited: boolean;
  onSaved(): void;
}

function Opened({ read, isEdited, onSaved }: OpenedProps) {
  const { board, queries } = read;
  const place = useRef<HTMLDivElement>(null);
  const { boardId, hubId } = board;
  const { draft, isChanged, edit, forget, store } = useDraft(read);
  const [values, show] = useValues(board);
  const [turn, setTurn] = useState(0);
  const saving = useAction();
  const cards = isEdited ? draft.cards : board.cards;
  useRefresh(isEdited ? null : board.refreshMinutes, () => setTurn((n) => n + 1));
  const asked = useMemo(() => cards.map((card) => asksOf(card, queries)), [cards, queries]);
  const change = (name: string, value: string | string[]) => {
    const { [name]: _, ...others } = values;
    show(value.length === 0 ? others : { ...others, [name]: value });
  };
  const loadTheirs = () => {
    forget();
    setAddressQuery('');
    onSaved();
  };
  const leave = () => go('hub', hubId, 'boards', boardId);
  const save = () =>
    saving.run(async () => {
      await store(values, show);
      leave();
      onSaved();
      notify('The board is saved.');
    });
  return (
    <div class="page board" ref={place}>
      <PageHead
        title={isEdited ? draft.label || board.label : board.label}
        warning={isChanged ? 'Changes not saved' : undefined}
      >
        {isEdited ? (
          <SaveOrCancel
            busy={saving.busy || !isMinutes(draft.refreshMinutes)}
            onSave={save}
            onCancel={() => {
              forget();
              leave();
            }}
          />
        ) : (
          <Actions
            board={board}
            found={queries}
            values={values}
            place={() => place.current}
            onRefresh={() => setTurn(turn + 1)}
          />
        )}
      </PageHead>
      {saving.problem !== undefined && <SaveProblem problem={saving.problem} onTheirs={loadTheirs} />}
      {isEdited && <BoardSettings draft={draft} onChange={edit} />}
      <Values asked={asked} values={values} onChange={change} isEdited={isEdited} />
      <BoardCards
        cards={cards}
        queries={queries}
        values={values}
        turn={turn}
        onChange={isEdited ? (changed) => edit({ cards: changed }) : undefined}
      />
    </div>
  );
}

/** Runs the cards again while the page is seen. */
function useRefresh(minutes: number | null, refresh: () => void): void {
  useEffect(() => {
    if (minutes === null) return;
    let isDue = false;
    const run = () => {
      isDue = document.visibilityState !== 'visible';
      if (!isDue) refresh();
    };
    const show = () => isDue && run();
    const timer = setInterval(run, minutes * 60_000);
    document.addEventListener('visibilitychange', show);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', show);
    };
  }, [minutes]);
}

interface ValuesProps {
  /** The variables that each card leaves to the board. */
  asked: Variable[][];
  values: CardValues;
  isEdited: boolean;
  onChange(name: string, value: string | string[]): void;
}

function Values({ asked, values, isEdited, onChange }: ValuesProps) {
  const variables = commonVariables(asked);
  if (variables.length === 0) return null;
  return (
    <div class="home-bar" role="group" aria-label="Values of the board">
      {variables.map((variable) => {
        const value = ownOf(values, variable.key);
        return (
          <CommonVariable
            key={variable.key}
            variable={variable}
            value={fieldText(value)}
            onChange={(text) => onChange(variable.key, fieldValue(text, value))}
          />
        );
      })}
      {isEdited && <span class="note">These values are saved with the board.</span>}
    </div>
  );
}

function useFullScreen(): boolean {
  const [isFull, setFull] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const look = () => setFull(document.fullscreenElement !== null);
    document.addEventListener('fullscreenchange', look);
    return () => document.removeEventListener('fullscreenchange', look);
  }, []);
  return isFull;
}

interface SaveOrCancelProps {
  busy: boolean;
  onSave(): void;
  onCancel(): void;
}

const SaveOrCancel = ({ busy, onSave, onCancel }: SaveOrCancelProps) => (
  <>
    <button type="button" onClick={onCancel}>
      Cancel
    </button>
    <button type="button" class="primary" disabled={busy} onClick={onSave}>
      Save the board
    </button>
  </>
);

interface ActionsProps {
  board: Board;
  found: ListedQuery[];
  values: CardValues;
  place(): HTMLElement | null;
  onRefresh(): void;
}

function Actions({ board, found, values, place, onRefresh }: ActionsProps) {
  const { boardId, hubId, refreshMinutes } = board;
  const link = new URL(linkTo('hub', hubId, 'boards', boardId), document.baseURI).href;
  const query = toQuery(values);
  const copy = (text: string) =>
    copyText(text).then((isCopied) => notify(isCopied ? 'The link is copied.' : text));
  const download = useAction();
  const isFull = useFullScreen();
  return (
    <>
      {download.problem !== undefined && (
        <span class="failed-text" role="alert">
          {download.problem.detail}
        </span>
      )}
      {refreshMinutes !== null && <span class="note">runs again every {refreshMinutes} min</span>}
      <button type="button" onClick={onRefresh}>
        <Icon name="refresh" /> Refresh
      </button>
      <button
        type="button"
        onClick={() => (isFull ? document.exitFullscreen() : place()?.requestFullscreen())}
      >
        {isFull ? 'Leave full screen' : 'Full screen'}
      </button>
      {!isFull && may('queries:write') && (
        <a class="button" href={linkTo('hub', hubId, 'boards', boardId, 'edit')}>
          Edit
        </a>
      )}
      <Menu
        label="More actions of the board"
        items={[
          { label: 'Copy link', run: () => copy(link) },
          ...(query === '' ? [] : [{ label: 'Copy link with values', run: () => copy(`${link}?${query}`) }]),
          {
            label: download.busy ? 'XLSX is being read …' : 'Download as XLSX',
            needs: 'queries:execute',
            run: () => download.busy || download.run(() => saveBoard(board, found, values)),
          },
        ]}
      />
    </>
  );
}
