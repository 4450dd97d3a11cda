"""Words that say nothing of what a text is about. Those of other languages that mean something in English are left out."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being below between both but by can cannot
    could couldn d did didn do does doesn doing don during each either else ever every few for from further had hadn has hasn have
    haven having he her here hers herself hey hi him himself his how i if in into is isn it its itself just let ll m me mine more most much
    must my myself no nor not now of off oh ok okay on once only onto or other our ours ourselves out over own per please quite rather re
    really s same shall she should shouldn so some such t than that the their theirs them themselves then there these they this those
    through thus to too under until up upon us ve very was wasn we were weren what whatever when where whether which while who whom whose
    why will with within without would wouldn yes yet you your yours yourself yourselves
    """.split()  # noqa: SIM905
)

OTHERS = frozenset(
    """
    aber auch auf aus bei bis bist da das dass dem der des dich diese dieser dieses doch ein eine einem einen einer eines
    er euch fur hatte ich ihm ihn ihr ihre im ist ja kann kein keine mich mir nach nicht noch nur oder ohne sehr seine sich sie
    sind uber und uns unser vom von vor wenn werden wie wir wird wo wurde zu zum zur
    au aux avec ce ces cette dans du elle et etait etre eux il ils je la le les leur leurs lui ma mais mes moi ne nos notre nous
    ont pas pour qu que qui sa ses sont sur ta tes toi tu un une vos votre vous
    al como cuando de desde donde el ella ellos ese eso esta estan este esto fue ha hasta hay las lo los muy nuestro para pero porque
    puede quien ser si sobre sus tambien tiene una uno unos y ya yo
    alla alle anche che chi cosa cui da dai dal dalla degli dei della delle di dove gli ho lei loro mio nei nel nella noi
    non perche piu quando quella quello questa questo sono sua suo sul sulla tra tuo voi
    ao aos com ela ele eles em essa esse foi isso isto mas meu minha muito na nao nem no nos numa os ou pela pelo quem sao
    sem seu seus sua suas tem uma voce
    aan bij dat deze dit een geen heb hebben heeft het hij hun ik je kan maar meer met mij mijn naar niet nog ook op te toch tot uit
    veel voor waar wat werd wij worden zal ze zich zij zijn zo
    и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще о из ему теперь
    когда даже ну ли если уже или ни быть был него до вас нибудь вам сказал там потом себя ничего ей может они тут где есть надо ней для
    мы тебя их чем была сам чтоб без чего раз тоже себе под будет кто этот того потому этого какой ним здесь этом один мои тем чтобы нее
    были куда зачем всех можно при об это
    """.split()  # noqa: SIM905
)

STOP_WORDS = ENGLISH | OTHERS
