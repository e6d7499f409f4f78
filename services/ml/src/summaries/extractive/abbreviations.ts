/** Words that a full stop may follow without ending a sentence, in lower case and without the full stop. */

const words = (list: string) => new Set(list.split(' '));

/** These never end a sentence: titles, references, "for example". */
export const abbreviations: ReadonlySet<string> = words(
  'mr mrs ms dr prof rev hon gen col lt sgt capt maj cmdr adm sen rep gov pres supt messrs mme mlle st mt ft ' +
    'vs cf viz approx est dept univ fig figs eq eqs sec ch vol vols pp ed eds trans ref refs nos tel ext ' +
    'e.g i.e eg ie et.al spp subsp var resp incl excl min max avg ' +
    'z.b d.h u.a o.ä u.ä i.d.r bzw ca vgl evtl ggf inkl exkl zzgl abzgl nr hr fr frl dipl ing abs art bd hrsg mio mrd tsd str sog geb gest ' +
    'p.ej sr sra srta ud uds ej núm pág págs dra dña av avda p.ex p.es sig dott ing geom avv cfr n.b ecc.ma ' +
    'dhr mevr dhr o.a bijv blz resp d.w.z m.n t.ex bl.a dvs osv kl kap ' +
    'т.е т.к г ул им проф акад гр тов рис стр см напр',
);

/** These end a sentence if a capital letter follows. */
export const endingAbbreviations: ReadonlySet<string> = words(
  'etc inc ltd co corp bros jr sr al a.m p.m p.a b.c a.d ph.d m.d b.a m.a d.c usw etc u.s.w ff jh n.chr v.chr no jan feb mar apr jun jul aug sep sept oct nov dec т.д т.п др',
);

/** Short words that end a sentence in a text without capitals. Other short words count as abbreviations there. */
export const shortWords: ReadonlySet<string> = words(
  'it us me up in on so do is be to go he we no ok my by at as if of am pm tv pc uk eu un ii',
);
